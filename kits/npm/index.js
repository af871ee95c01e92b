export { Proxy, Rule, Watch, Held } from './lib/proxy.js';
export {
  BadFilter, BadRule, JudgeError, MissingBinary, Refused, RuleFailed, RunEnded, StartError, TeetapError, WaitTimeout, WrongVersion,
} from './lib/errors.js';
