// A connection to the control socket of a run.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { SCHEMA } from './binary.js';
import { Refused, RunEnded, TeetapError, WrongVersion } from './errors.js';

/** Maximum wait for the answer to a command, in milliseconds. */
const PATIENCE = 10_000;

/** A connection: commands and their answers, and the events of a subscription. */
export class Connection {
  #socket;
  #last = 0;
  /** Commands without an answer by their number. */
  #pending = new Map();
  #events = [];
  /** Callers that wait for an event. */
  #waiting = [];
  #ended = false;
  #refusal = null;

  constructor(socket) {
    this.#socket = socket;
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end());
    const lines = createInterface({ input: socket, crlfDelay: Infinity });
    lines.on('line', (line) => this.#line(line));
    // It repeats the error of the socket, which is closed already.
    lines.on('error', () => {});
  }

  static open(path) {
    return new Promise((done, failed) => {
      const socket = connect(path);
      const refused = (error) => failed(new RunEnded(`cannot connect to ${path}: ${error.message}`));
      socket.once('error', refused);
      socket.once('connect', () => {
        socket.off('error', refused);
        done(new Connection(socket));
      });
    });
  }

  #line(text) {
    let line;
    try {
      line = JSON.parse(text);
    } catch {
      this.#socket.destroy();
      return;
    }
    if (line.event === 'answer') {
      if (line.id === null) this.#refusal = line.why;
      const pending = this.#pending.get(line.id);
      this.#pending.delete(line.id);
      pending?.(line);
    } else if (line.event !== 'start' && line.event !== 'summary') {
      const waiting = this.#waiting.shift();
      if (waiting) waiting.found(line);
      else this.#events.push(line);
    }
  }

  #end() {
    this.#ended = true;
    for (const pending of this.#pending.values()) pending(null);
    this.#pending.clear();
    for (const waiting of this.#waiting.splice(0)) waiting.ended();
  }

  /** Sends a command. Resolves to the answer. Fields that are undefined or null are not sent. */
  async command(cmd, fields = {}) {
    if (this.#ended) throw this.#gone(cmd);
    this.#last += 1;
    const id = this.#last;
    const wanted = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
    const answer = await new Promise((done, failed) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        failed(new TeetapError(`${cmd}: no answer for ${PATIENCE / 1000} s`));
      }, PATIENCE);
      this.#pending.set(id, (line) => {
        clearTimeout(timer);
        done(line);
      });
      this.#socket.write(`${JSON.stringify({ id, cmd, ...wanted })}\n`);
    });
    if (answer === null) throw this.#gone(cmd);
    if (answer.v !== SCHEMA) {
      throw new WrongVersion(`teetap writes version ${answer.v} of its JSON lines; this package reads version ${SCHEMA}`);
    }
    if (!answer.done) throw new Refused(cmd, answer.why);
    return answer;
  }

  #gone(cmd) {
    return this.#refusal ? new Refused(cmd, this.#refusal) : new RunEnded(`${cmd}: the run has ended`);
  }

  /** Resolves to the next event, or to null if there is none for `wait` milliseconds. Rejects if the connection is closed. */
  event(wait) {
    if (this.#events.length > 0) return Promise.resolve(this.#events.shift());
    if (this.#ended) return Promise.reject(new RunEnded('the run has ended'));
    return new Promise((done, failed) => {
      const waiting = {};
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        done(null);
      }, Math.max(0, wait));
      waiting.found = (event) => {
        clearTimeout(timer);
        done(event);
      };
      waiting.ended = () => {
        clearTimeout(timer);
        failed(new RunEnded('the run has ended'));
      };
      this.#waiting.push(waiting);
    });
  }

  /** Closes the connection. */
  close() {
    this.#socket.destroy();
  }
}
