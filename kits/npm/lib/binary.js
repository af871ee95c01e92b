// Finds and runs the program `teetap`.
import { execFile, spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import { JudgeError, MissingBinary, WrongVersion } from './errors.js';

/** Oldest supported version of the program. */
const OLDEST = [0, 1, 0];

/** Version of the JSON lines that this package reads. */
export const SCHEMA = 2;

/** Maximum duration of a command that reads a recording, in milliseconds. */
const PATIENCE = 120_000;

/** Maximum duration of `--version`, in milliseconds. */
const VERSION = 10_000;

/** Maximum bytes of its output. */
const MAX_OUTPUT = 1 << 30;

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function inPath(name) {
  if (name.includes('/')) return isProgram(name) ? resolve(name) : null;
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null;
}

/** Returns the path of the program: `binary`, `$TEETAP_BIN`, the one of the platform package, or `$PATH`. */
export function find(binary) {
  const wanted = binary ?? process.env.TEETAP_BIN;
  if (wanted) {
    const found = inPath(wanted);
    if (found) return found;
    const origin = binary === undefined ? ' (from TEETAP_BIN)' : '';
    throw new MissingBinary(`cannot run ${wanted}${origin}: no such program; install teetap or name its path`);
  }
  try {
    const require = createRequire(import.meta.url);
    return require.resolve(`teetap-${process.platform}-${process.arch}/bin/teetap`);
  } catch {
    // No platform package is installed.
  }
  const found = inPath('teetap');
  if (found) return found;
  throw new MissingBinary('cannot run teetap: it is not in PATH; install it, or set TEETAP_BIN to its path');
}

/** Returns the environment of the program: without variables that set options. */
export function environment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TEETAP_')));
}

/** Throws `WrongVersion` if the program is too old, or is another program. */
export function checkVersion(binary) {
  const { status, stdout, error } = spawnSync(binary, ['--version'], { encoding: 'utf8', env: environment(), timeout: VERSION, killSignal: 'SIGKILL' });
  if (error && ['ETIMEDOUT', 'ENOBUFS'].includes(error.code)) {
    throw new WrongVersion(`${binary} is not teetap: its --version does not end`);
  }
  if (error) throw new MissingBinary(`cannot run ${binary}: ${error.message}`);
  const line = stdout.split('\n')[0];
  const found = /^teetap (\d+)\.(\d+)\.(\d+)/.exec(line);
  if (status !== 0 || !found) throw new WrongVersion(`${binary} is not teetap: its --version prints ${JSON.stringify(line)}`);
  const version = found.slice(1).map(Number);
  const at = version.findIndex((part, index) => part !== OLDEST[index]);
  if (at >= 0 && version[at] < OLDEST[at]) {
    throw new WrongVersion(`${binary} is ${line}; this package needs ${OLDEST.join('.')} or later`);
  }
}

/** Runs a command that reads the recording at `path`. Resolves to its JSON lines. */
export function jsonLines(binary, args, path) {
  return new Promise((done, failed) => {
    const options = { env: environment(), timeout: PATIENCE, maxBuffer: MAX_OUTPUT, encoding: 'utf8' };
    const child = execFile(binary, args, options, (error, stdout, stderr) => {
      if (error && error.code !== 1) return failed(new JudgeError(sentence(stderr) || `cannot read ${path}: ${error.message}`));
      return done(stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line)));
    });
    child.stdin.end();
  });
}

/** Returns the output of a program that refused to start, without the prefix of its first line. */
export function sentence(stderr) {
  return stderr.trim().replace(/^teetap: /, '').replace(/^error: /, '');
}
