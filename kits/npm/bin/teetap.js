#!/usr/bin/env node
// Runs the program of the platform package.
import { spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { find } from '../lib/binary.js';

try {
  const { status, signal, error } = spawnSync(find(), process.argv.slice(2), { stdio: 'inherit' });
  if (error) throw error;
  process.exitCode = signal ? 128 + constants.signals[signal] : status;
} catch (error) {
  console.error(`teetap: ${error.message}`);
  process.exitCode = 3;
}
