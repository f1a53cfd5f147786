/** Members that ask each other over HTTP: real servers, our own and others that might listen at an address. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { askMember, type MemberReply } from '../../../src/ops/group/ask-member.ts';
import type { GroupWatch } from '../../../src/ops/group/group-watch.ts';
import { memberKey } from '../../../src/ops/group/member-key.ts';
import { memberReport } from '../../../src/ops/group/member-report.ts';
import type { ProcessorState } from '../../../src/ops/processor-state.ts';
import { FakeProcessor } from '../fake-processor.ts';
import { ShownProcessor } from '../shown-processor.ts';
import { stateOf } from './known.ts';

const TOKEN = 'the-token-of-the-group';
const TIMEOUT_MS = 400;
const servers: (Server | ShownProcessor)[] = [];
type Member = ShownProcessor & { readonly address: string; readonly watch: GroupWatch };

afterEach(async () => {
  for (const server of servers.splice(0)) {
    if ('closeAllConnections' in server) {
      server.closeAllConnections();
      server.close();
    } else {
      await server.stop();
      expect(server.errors).toEqual([]);
    }
  }
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that is not a member. */
async function stranger(handler: Handler): Promise<{ address: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** A processor with all its HTTP endpoints. */
async function member(processId: string, authToken: string | null = TOKEN, timeoutMs = TIMEOUT_MS): Promise<Member> {
  const made = new ShownProcessor();
  made.lanes.processId = processId;
  await made.serve(authToken, 0, timeoutMs);
  servers.push(made);
  return made as Member;
}

function ask(address: string, change: Partial<Parameters<typeof askMember>[0]> = {}): Promise<MemberReply> {
  return askMember({ address, process: 'bbbbbbbb', authToken: TOKEN, after: null, ...change }, TIMEOUT_MS);
}

async function reportOf(processId: string): Promise<string> {
  const state = await stateOf(new FakeProcessor(), processId);
  return JSON.stringify(memberReport({ state, samples: [], events: [] }, null));
}

describe('a member that another one asks', () => {
  it('reports to a caller with the key for its address, or to any caller if no token is set', async () => {
    for (const authToken of [TOKEN, null]) {
      const { address, timeline } = await member('bbbbbbbb-2', authToken);
      timeline.note('lanes', 'got lane 0; now has lane 0');
      const reply = await ask(address, { authToken });
      expect(reply).toMatchObject({
        kind: 'report',
        report: { state: { processId: 'bbbbbbbb-2' }, events: [{ number: 1, kind: 'lanes' }] },
      });
    }
  });

  it('reports only recent samples and events if asked to', async () => {
    const other = await member('bbbbbbbb-2');
    other.timeline.note('lanes', 'before');
    other.nowMs += 60_000;
    other.timeline.note('lanes', 'after');
    const reply = await ask(other.address, { after: new Date(other.nowMs).toISOString() });
    expect(reply.kind === 'report' && reply.report.events.map(({ text }) => text)).toEqual(['after']);
    const odd = await ask(other.address, { after: 'not an instant' });
    expect(odd.kind === 'report' && odd.report.events).toHaveLength(2);
  });

  it('accepts a key only for its own address, and only for its report', async () => {
    const { address } = await member('bbbbbbbb-2');
    const statusOf = async (path: string, token: string): Promise<number> =>
      (await fetch(`${address}${path}`, { headers: { authorization: `Bearer ${token}` } })).status;
    const key = memberKey(TOKEN, address);
    expect(await statusOf('/api/member', key)).toBe(200);
    expect(await statusOf('/api/member', TOKEN)).toBe(200);
    expect(await statusOf('/api/member', memberKey(TOKEN, 'http://127.0.0.1:1'))).toBe(401);
    expect(await statusOf('/api/member', memberKey('another', address))).toBe(401);
    for (const path of ['/api/state', '/api/group', '/api/group/history', '/api/command', '/metrics']) {
      expect(await statusOf(path, key)).toBe(401);
    }
  });
});

describe('an address where something else listens', () => {
  it.each<[string, Handler, string]>([
    ['noise', (_request, response) => response.end('\u0000<html>{"state":'), 'not-a-report'],
    ['JSON that is no report', (_request, response) => response.end('{"state":{"lanes":[]}}'), 'not-a-report'],
    ['404', (_request, response) => response.writeHead(404).end('{}'), 'not-a-report'],
    ['headers, and then silence', (_request, response) => void response.writeHead(200).write('{'), 'timed-out'],
    ['a connection that breaks', (request) => request.socket.destroy(), 'unreachable'],
    [
      'a byte every now and then',
      (request, response) => {
        const timer = setInterval(() => response.write(' '), 50);
        request.socket.once('close', () => clearInterval(timer));
      },
      'timed-out',
    ],
  ])('%s: a fault', async (_what, handler, fault) => {
    const { address } = await stranger(handler);
    expect(await ask(address)).toEqual({ kind: 'fault', fault });
  });

  it("another process of ours: its figures do not pass for the member's", async () => {
    const body = await reportOf('cccccccc-3');
    const { address } = await stranger((_request, response) => response.end(body));
    expect(await ask(address)).toEqual({ kind: 'fault', fault: 'another-process' });
    expect(await ask(address, { process: 'cccccccc' })).toMatchObject({ kind: 'report' });
  });

  it('never gets the token, and a redirect is not followed', async () => {
    const target = await stranger((_request, response) => response.end('{}'));
    const { address, requests } = await stranger((_request, response) =>
      response.writeHead(302, { location: target.address }).end(),
    );
    expect(await ask(address)).toEqual({ kind: 'fault', fault: 'not-a-report' });
    expect(target.requests).toEqual([]);
    const [request] = requests;
    expect(JSON.stringify([request?.url, request?.rawHeaders])).not.toContain(TOKEN);
    expect([request?.method, request?.url]).toEqual(['GET', '/api/member']);
    // The key that it got opens no other member.
    const given = String(request?.headers.authorization);
    const ours = await member('bbbbbbbb-2');
    const answer = await fetch(`${ours.address}/api/member`, { headers: { authorization: given } });
    expect(answer.status).toBe(401);
  });
});

describe('the members of a group', () => {
  /** Kafka's group, as the first member sees it. */
  function groupOf(first: Member, others: readonly { process: string; address: string | null }[]): void {
    // Kafka's last answer counts for two seconds.
    first.nowMs += 2_500;
    first.members = async () => [
      { process: 'aaaaaaaa', host: '10.0.0.7', lanes: [0], address: first.address },
      ...others.map(({ address, process }) => ({ process, address, host: '10.0.0.8', lanes: [1] })),
    ];
  }

  it('are shown in time: one down, one slow, one sending noise, one that refuses, one endless, and one healthy', async () => {
    // Time enough for the healthy one on a busy machine.
    const first = await member('aaaaaaaa-1', TOKEN, 2_000);
    const well = await member('bbbbbbbb-2');
    const refusing = await member('cccccccc-3', 'another token');
    const slow = await stranger(() => undefined);
    const noise = await stranger((_request, response) => response.end('{}'));
    const endless = await stranger((_request, response) => {
      while (response.write('x'.repeat(1_000_000)));
      response.on('drain', () => response.write('x'.repeat(1_000_000)));
    });
    groupOf(first, [
      { process: 'bbbbbbbb', address: well.address },
      { process: 'cccccccc', address: refusing.address },
      { process: 'dddddddd', address: slow.address },
      { process: 'eeeeeeee', address: noise.address },
      { process: 'ffffffff', address: endless.address },
      { process: '00000000', address: 'http://127.0.0.1:1' },
      { process: '11111111', address: null },
      { process: 'no of ours', address: slow.address },
    ]);
    const answer = await fetch(`${first.address}/api/group`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const state = (await answer.json()) as Awaited<ReturnType<GroupWatch['read']>>;
    expect(state.members.map(({ fault, isCounted, process }) => [process, isCounted, fault])).toEqual([
      ['aaaaaaaa', true, null],
      ['00000000', false, 'unreachable'],
      ['11111111', false, 'no-address'],
      ['bbbbbbbb', true, null],
      ['cccccccc', false, 'token-refused'],
      ['dddddddd', false, 'timed-out'],
      ['eeeeeeee', false, 'not-a-report'],
      ['ffffffff', false, 'too-large'],
    ]);
    expect(state.callSlots).toBe(200);
    expect(JSON.stringify(state)).not.toContain(TOKEN);
  });

  it('are asked once for all concurrent viewers, and never more at once than a round allows', async () => {
    const first = await member('aaaaaaaa-1');
    let atOnce = 0;
    let most = 0;
    const other = await stranger((_request, response) => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      response.once('close', () => (atOnce -= 1));
    });
    const many = Array.from({ length: 40 }, (_, index) => String(index).padStart(8, '0'));
    groupOf(
      first,
      many.map((process) => ({ process, address: other.address })),
    );
    await Promise.all(Array.from({ length: 8 }, () => first.watch.read()));
    expect(most).toBe(16);
    await expect.poll(() => other.requests.length, { timeout: 5_000 }).toBe(40);
  });

  it('that left are kept, with their last report and their events', async () => {
    const first = await member('aaaaaaaa-1');
    const other = await member('bbbbbbbb-2');
    other.timeline.note('breaker', 'opened the breaker of transfer-in (100 % faults)');
    groupOf(first, [{ process: 'bbbbbbbb', address: other.address }]);
    expect((await first.watch.read()).members.map(({ isCounted }) => isCounted)).toEqual([true, true]);
    groupOf(first, []);
    const state = await first.watch.read();
    const goneSince = new Date(first.nowMs).toISOString();
    expect(state.members[1]).toMatchObject({
      ...{ process: 'bbbbbbbb', standing: 'gone', goneSince, isCounted: false },
      figures: { lanes: [0], callSlots: 100 },
    });
    expect(state.timeline.map(({ process, text }) => `${process} ${text}`)).toEqual([
      'bbbbbbbb is no longer in the group; had lane 0',
      'bbbbbbbb opened the breaker of transfer-in (100 % faults)',
    ]);
    // Members for an hour, events for a day.
    first.nowMs += 3_601_000;
    const later = await first.watch.read();
    expect(later.members).toHaveLength(1);
    expect(later.timeline).toHaveLength(2);
    first.nowMs += 24 * 3_600_000;
    expect((await first.watch.read()).timeline).toEqual([]);
  });

  it('do not count as gone while Kafka does not say who is in the group', async () => {
    const first = await member('aaaaaaaa-1');
    const other = await member('bbbbbbbb-2');
    groupOf(first, [{ process: 'bbbbbbbb', address: other.address }]);
    await first.watch.read();
    for (const members of [async () => [], () => Promise.reject(new Error('no coordinator'))]) {
      first.nowMs += 2_500;
      first.members = members;
      const { isGroupKnown, members: shown, timeline } = await first.watch.read();
      expect([shown[1]?.standing, timeline]).toEqual(['member', []]);
      expect(isGroupKnown).toBe(false);
    }
  });
});

describe('the report of a member', () => {
  it('is understood in full by the release that makes it', async () => {
    const state: ProcessorState = await stateOf(new FakeProcessor(), 'bbbbbbbb-2');
    const { address } = await stranger((_request, response) =>
      response.end(JSON.stringify(memberReport({ state, samples: [], events: [] }, null))),
    );
    const reply = await ask(address);
    expect(reply.kind === 'report' && Object.values(reply.report.state).filter((part) => part === null)).toEqual([]);
  });
});
