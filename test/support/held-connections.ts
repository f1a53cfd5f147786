/** Counts connections in the kernel's table, because a server may notice a dropped connection late, or never. */
import { readFileSync } from 'node:fs';

interface TcpSocket {
  readonly inode: string;
  readonly remotePort: number;
}

/** The inode of a socket that no process owns any more. */
const NO_INODE = '0';

/** The IPv4 sockets of this machine. */
export function tcpSockets(): TcpSocket[] {
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length > 9)
    .map(([, , remote, , , , , , , inode = NO_INODE]) => ({
      inode,
      remotePort: Number.parseInt(remote?.split(':').at(-1) ?? '', 16),
    }));
}

/** @returns how many connections to this local port client processes hold */
export function connectionsHeldTo(port: number): number {
  return tcpSockets().filter(({ inode, remotePort }) => remotePort === port && inode !== NO_INODE).length;
}
