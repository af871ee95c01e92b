export type Side = 'client' | 'server';
export type Direction = 'c2s' | 's2c';
export type Severity = 'error' | 'warning' | 'info';

/** Options of a run. */
export interface ProxyOptions {
  /** Rules, such as `drop when sv_chat`. */
  rules?: string | string[];
  /** Link lines, such as `both loss 5%`. */
  link?: string | string[];
  /** Names of link profiles, such as `wifi-bad`. */
  profile?: string | string[];
  /** Files of rules. */
  ruleFiles?: string | string[];
  /** File of the recording, `.pcapng` or `.jsonl`. An older recording of teetap is replaced. Without it the recording is temporary. */
  record?: string;
  /** Address for clients; by default a free port of 127.0.0.1. */
  listen?: string;
  /** Seed of the random decisions. */
  seed?: number;
  /** More options of `teetap run`. */
  options?: string[];
  /** The program; by default `$TEETAP_BIN`, the one of the platform package, or `teetap` in `$PATH`. */
  binary?: string;
}

/** An address that clients connect to. `String(address)` is `HOST:PORT`. */
export interface Address {
  host: string;
  port: number;
  toString(): string;
}

/** A JSON object of teetap. */
export interface TeetapObject {
  v: number;
  /** Seconds since the start of the run. */
  t: number;
  event: string;
  [field: string]: unknown;
}

/** A message or a datagram. */
export interface Message extends TeetapObject {
  session: number | null;
  dir: Direction;
  proto: string;
  /** Name such as `sv_chat`; missing for a datagram. */
  name?: string | null;
  fields?: Record<string, any>;
  vital?: boolean;
  seq?: number | null;
}

/** A finding of `teetap judge`. */
export interface Finding extends TeetapObject {
  /** Code such as `ack-ahead`; `teetap explain CODE` prints its page. */
  code: string;
  severity: Severity;
  /** The peer that caused it; null if unknown. */
  by: 'client' | 'server' | 'proxy' | null;
  text: string;
  detail: string | null;
}

/** A rule or link line of a run. */
export interface RuleInfo {
  name: string;
  text: string;
  from: string;
  line: number;
  on: boolean;
  hits: number | null;
  last_hit: number | null;
}

/** A session of a run. */
export interface SessionInfo {
  session: number;
  state: string;
  proto: string;
  client: string;
  opened: number;
}

/** A message to send: a text of the rule language, or its parts. */
export type Injected =
  | string
  | { dir: Direction; name: string; fields?: Record<string, unknown>; vital?: boolean }
  | { dir: Direction; hex: string; vital?: boolean };

/** Statements that a test added to a run. `await using` removes them at the end of the block. */
export class Rule implements AsyncDisposable {
  private constructor();
  /** Names of the statements; the text of a statement without a name. */
  readonly names: string[];
  on(): Promise<void>;
  off(): Promise<void>;
  remove(): Promise<void>;
  /** Resolves to the number of messages on which the statements acted. */
  hits(): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A message that `pause` holds. */
export class Held {
  private constructor();
  readonly session: number;
  readonly dir: Direction;
  readonly held: number;
  readonly rule: string | null;
  readonly name?: string;
  readonly fields?: Record<string, any>;
  /** Forwards the message. */
  release(): Promise<void>;
  /** Drops the message. */
  drop(): Promise<void>;
  /** Changes the message, which stays held. Fields that are not named keep their values. */
  edit(change: string | { message?: string; fields?: Record<string, unknown>; hex?: string }): Promise<void>;
}

/** A subscription to the messages that match a filter, from its creation on. */
export class Watch implements Disposable, AsyncDisposable {
  private constructor();
  /** Number of events that were lost because this process was too slow. */
  readonly missed: number;
  /** Resolves to the next message. Rejects with {@link WaitTimeout} after `timeout` milliseconds, 5000 by default. */
  next(timeout?: number): Promise<Message>;
  close(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
  [Symbol.asyncIterator](): AsyncIterator<Message>;
}

/** A run of teetap in front of a server. */
export class Proxy implements AsyncDisposable {
  private constructor();
  /** Starts a run in front of `target`, `HOST[:PORT]`. Resolves once clients can connect. */
  static start(target: string, options?: ProxyOptions): Promise<Proxy>;
  /** Ends the run. Resolves to its `summary` line. */
  stop(): Promise<TeetapObject | null>;
  /** Ends the run. Rejects with {@link RuleFailed} if a rule with `fail` or `expect` failed it. */
  [Symbol.asyncDispose](): Promise<void>;

  /** Address that clients connect to. */
  readonly addr: Address;
  /** Seed of the random decisions. */
  readonly seed: number;
  /** Version of teetap. */
  readonly version: string;
  /** Process id of teetap. */
  readonly pid: number | undefined;
  /** Path of the recording. */
  readonly recording: string;
  /** Last warnings of teetap. */
  readonly warnings: string[];
  /** `summary` line of the run; null while it runs. */
  readonly summary: TeetapObject | null;
  /** Returns the reason if a rule with `fail` or `expect` ended the run. */
  failedRule(): string | null;

  /** Sends a command of the control socket. Resolves to the answer; rejects with {@link Refused}. */
  command(cmd: string, fields?: Record<string, unknown>): Promise<TeetapObject>;
  /** Sends an additional message. `session` may be left out if only one session is online. */
  inject(message: Injected, options?: { session?: number; vital?: boolean }): Promise<void>;
  /** Adds rules or link lines after all others. Rejects with {@link BadRule}. */
  rule(text: string): Promise<Rule>;
  /** Resolves to the rules and link lines, in their order. */
  rules(): Promise<RuleInfo[]>;
  /** Resolves to the held messages of a session, or of all sessions. */
  held(session?: number): Promise<Held[]>;
  /** Resolves to the sessions that are not closed. */
  sessions(): Promise<SessionInfo[]>;
  /** Resolves to the counts of the run. */
  stats(): Promise<Record<string, any>>;
  /** Makes the server send a complete snapshot. */
  resync(session?: number): Promise<void>;
  /** Closes a session, by default the only one, with CLOSE to both peers. `side` gets the reason; by default both do. */
  close(reason?: string, options?: { side?: Side | 'both'; session?: number }): Promise<void>;

  /** Subscribes to the messages that match a filter, from now on. Rejects with {@link BadFilter}. */
  watch(filter?: string, options?: { verbose?: 0 | 1 | 2 }): Promise<Watch>;
  /**
   * Resolves to the first message that matches, received after the one that the previous `wait` resolved to. Messages count from the start
   * of the run. Rejects with {@link WaitTimeout} after `timeout` milliseconds, 5000 by default.
   */
  wait(filter: string, timeout?: number): Promise<Message>;
  /** Resolves to all messages so far that match a filter, from the recording. */
  seen(filter?: string): Promise<Message[]>;
  /** Resolves to the findings of `teetap judge`, the most important one first. They are complete once the run has ended. */
  findings(options?: { side?: Side | 'proxy'; severity?: Severity }): Promise<Finding[]>;
}

/** Base of all errors of this package. */
export class TeetapError extends Error {}
/** The program `teetap` was not found, or cannot be executed. */
export class MissingBinary extends TeetapError {}
/** The program `teetap` is of a version that this package does not support. */
export class WrongVersion extends TeetapError {}
/** teetap refused to start. */
export class StartError extends TeetapError {
  /** Exit code: 2 for a wrong option, 3 for the network. */
  readonly code: number | null;
}
/** A rule, a link line or a file of rules is wrong. */
export class BadRule extends StartError {}
/** A run refused a command. */
export class Refused extends TeetapError {
  readonly command: string;
  /** The sentence of teetap. */
  readonly why: string;
}
/** The filter of a subscription is wrong. */
export class BadFilter extends Refused {}
/** The run has ended, so it carries out no further command. */
export class RunEnded extends TeetapError {}
/** A rule with `fail` or `expect` failed the run. */
export class RuleFailed extends TeetapError {}
/** No message matched in time. */
export class WaitTimeout extends TeetapError {}
/** A recording cannot be read. */
export class JudgeError extends TeetapError {}
