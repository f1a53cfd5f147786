/** Who decides or redrives, where the command line does not say. In a pod the system's user is nobody's name. */
import { userInfo } from 'node:os';
import { CliFailure } from './exit-codes.ts';

/** @throws CliFailure where the system has no name of its user */
export function systemUser(): string {
  const given = process.env['PAYMENTS_OPERATOR'] ?? '';
  if (given !== '') return given;
  try {
    return userInfo().username;
  } catch {
    // A container may run under a user id that has no name.
    throw new CliFailure(
      'usage',
      'the operating system knows no name of this user: give --operator or PAYMENTS_OPERATOR',
    );
  }
}
