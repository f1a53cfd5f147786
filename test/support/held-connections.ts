/** Connections as the kernel counts them: the other side may see the end of a dropped one late, or never. */
import { readFileSync } from 'node:fs';
import { tcpSocketsOf } from '../../proofs/soak/process-handles.ts';

/** None of them belongs to a process any more. */
const NO_INODE = '0';

/** How many connections processes of this machine hold to a port of it, as clients. */
export function connectionsHeldTo(port: number): number {
  return tcpSocketsOf(readFileSync('/proc/net/tcp', 'utf8')).filter(
    ({ inode, remotePort }) => remotePort === port && inode !== NO_INODE,
  ).length;
}
