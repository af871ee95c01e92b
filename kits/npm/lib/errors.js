/** Base of all errors of this package. */
export class TeetapError extends Error {
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

/** The program `teetap` was not found, or cannot be executed. */
export class MissingBinary extends TeetapError {}

/** The program `teetap` is of a version that this package does not support. */
export class WrongVersion extends TeetapError {}

/** teetap refused to start. `code` is its exit code: 2 for a wrong option, 3 for the network. */
export class StartError extends TeetapError {
  constructor(sentence, code = null) {
    super(sentence);
    this.code = code;
  }
}

/** A rule, a link line or a file of rules is wrong. */
export class BadRule extends StartError {}

/** A run refused a command. `why` is the sentence of teetap. */
export class Refused extends TeetapError {
  constructor(command, why) {
    super(`${command}: ${why}`);
    this.command = command;
    this.why = why;
  }
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
