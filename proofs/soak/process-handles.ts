/** What a process has open, by kind, and whom its TCP connections lead to: read from /proc, as the kernel has it. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export const HANDLE_KINDS = ['tcp', 'unix', 'pipe', 'event', 'file', 'other'] as const;
export type HandleKind = (typeof HANDLE_KINDS)[number];

/** `served`: connections that others made to the process's own HTTP port. */
export const PEERS = ['kafka', 'registry', 'service', 'served', 'other'] as const;
export type Peer = (typeof PEERS)[number];

/** Ports on this machine, by whom they belong to. */
export type Ports = ReadonlyMap<number, Exclude<Peer, 'served' | 'other'>>;

export interface OpenHandles {
  /** Count of open handles. */
  handles: Record<HandleKind, number>;
  /** Count of established or ending TCP connections; listening sockets are handles alone. */
  connections: Record<Peer, number>;
}

export interface TcpSocket {
  inode: string;
  localPort: number;
  remotePort: number;
  isListening: boolean;
}

const LISTENING = '0A';
const SOCKET = /^socket:\[(\d+)\]$/;

/** The sockets of /proc/net/tcp or tcp6. */
export function tcpSocketsOf(table: string): TcpSocket[] {
  const portOf = (address: string | undefined): number => Number.parseInt(address?.split(':').at(-1) ?? '', 16);
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length > 9)
    .map(([, local, remote, state, , , , , , inode]) => ({
      inode: inode ?? '',
      localPort: portOf(local),
      remotePort: portOf(remote),
      isListening: state === LISTENING,
    }));
}

/**
 * @param targets what /proc/PID/fd/* link to
 * @param httpPort the process's own
 */
export function countHandles(
  targets: readonly string[],
  sockets: readonly TcpSocket[],
  ports: Ports,
  httpPort: number,
): OpenHandles {
  const byInode = new Map(sockets.map((socket) => [socket.inode, socket]));
  const handles: Record<HandleKind, number> = { tcp: 0, unix: 0, pipe: 0, event: 0, file: 0, other: 0 };
  const connections: Record<Peer, number> = { kafka: 0, registry: 0, service: 0, served: 0, other: 0 };
  for (const target of targets) {
    const inode = SOCKET.exec(target)?.[1];
    const socket = inode === undefined ? undefined : byInode.get(inode);
    handles[kindOf(target, socket)] += 1;
    if (socket === undefined || socket.isListening) continue;
    const peer = socket.localPort === httpPort ? 'served' : (ports.get(socket.remotePort) ?? 'other');
    connections[peer] += 1;
  }
  return { handles, connections };
}

function kindOf(target: string, socket: TcpSocket | undefined): HandleKind {
  if (socket !== undefined) return 'tcp';
  if (target.startsWith('socket:')) return 'unix';
  if (target.startsWith('pipe:')) return 'pipe';
  if (target.startsWith('anon_inode:')) return 'event';
  return target.startsWith('/') ? 'file' : 'other';
}

/** @throws Error when the process is gone */
export function openHandlesOf(pid: number, ports: Ports, httpPort: number): OpenHandles {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(`${folder}/${name}`)];
    } catch {
      // Closed since it was listed.
      return [];
    }
  });
  const sockets = ['tcp', 'tcp6'].flatMap((table) => tcpSocketsOf(readFileSync(`/proc/${pid}/net/${table}`, 'utf8')));
  return countHandles(targets, sockets, ports, httpPort);
}
