/** Who decides, holds or redrives. In a pod the system's user is nobody's name. */
import { userInfo } from 'node:os';
import { CliFailure } from './exit-codes.ts';

/**
 * @param flag what `--operator` says
 * @throws CliFailure where nothing says it, and the system has no name of its user
 */
export function operatorName(flag: string | undefined): string {
  if (flag !== undefined) return flag;
  const fromEnvironment = process.env['PAYMENTS_OPERATOR'] ?? '';
  if (fromEnvironment !== '') return fromEnvironment;
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
