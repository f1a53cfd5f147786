/** Counts connections in the kernel's table, because a server may notice a dropped connection late, or never. */
import { readFileSync } from 'node:fs';
import { tcpSocketsOf } from '../../proofs/soak/process-handles.ts';

/** The inode of a socket that no process owns any more. */
const NO_INODE = '0';

/** @returns how many connections to this local port client processes hold */
export function connectionsHeldTo(port: number): number {
  return tcpSocketsOf(readFileSync('/proc/net/tcp', 'utf8')).filter(
    ({ inode, remotePort }) => remotePort === port && inode !== NO_INODE,
  ).length;
}
