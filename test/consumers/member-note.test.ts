import kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { laneAssigner } from '../../src/consumers/assigner.ts';
import { checkedAddress, decodeMemberNote, encodeMemberNote } from '../../src/consumers/member-note.ts';

const { AssignerProtocol } = kafkajs;

function metadata(userData: Buffer | string): Buffer {
  return AssignerProtocol.MemberMetadata.encode({ version: 1, topics: ['t'], userData: Buffer.from(userData) });
}

const NOTE = { lanes: [], address: null, isLeaving: false, isUnserved: false };
const addressIn = (bytes: Buffer): string | null => decodeMemberNote(bytes).address;
const memberNote = (lanes: readonly number[], address: string | null): Buffer =>
  encodeMemberNote({ ...NOTE, lanes, address });

describe('the address that a member tells the group', () => {
  it('is read as it was written', () => {
    for (const address of ['http://10.0.0.7:8080', 'https://pod-1.pods:8443', 'http://[fd00::7]:8080']) {
      expect(addressIn(metadata(memberNote([0, 1, 2], address)))).toBe(address);
    }
    expect(addressIn(metadata(memberNote([0], null)))).toBeNull();
  });

  it('leaves the lanes as releases that know of no address read them', () => {
    const parts = JSON.parse(memberNote([3, 4], 'http://10.0.0.7:8080').toString()) as unknown[];
    expect(parts.filter((part) => Number.isInteger(part))).toEqual([3, 4]);
    expect(memberNote([3, 4], null).toString()).toBe('[3,4]');
  });

  it.each(['isLeaving', 'isUnserved'] as const)('stands beside the word %s', (word) => {
    const note = { ...NOTE, lanes: [0], address: 'http://10.0.0.7:8080', [word]: true };
    expect(decodeMemberNote(metadata(encodeMemberNote(note)))).toEqual(note);
    expect(decodeMemberNote(metadata(encodeMemberNote({ ...note, address: null })))[word]).toBe(true);
    expect(decodeMemberNote(metadata(`[0,{"${word}":"true"}]`))[word]).toBe(false);
  });

  it('stands beside the topics of its member, which are assigned whatever the leader reads', async () => {
    const make = laneAssigner(2, () => NOTE);
    const assigner = make({ cluster: {} as never, groupId: 'g', logger: {} as never });
    const members = [['t'], ['t', 'sandbox']].map((topics, index) => ({
      memberId: `member-${index}`,
      memberMetadata: assigner.protocol({ topics }).metadata,
    }));
    const given = await assigner.assign({ members, topics: ['t'] });
    const topicsOf = given.map(({ memberAssignment }) =>
      Object.keys(AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment ?? {}),
    );
    expect(topicsOf).toEqual([['t'], ['t', 'sandbox']]);
  });

  it('travels with each joining, and moves no lane', async () => {
    const make = laneAssigner(4, () => ({ ...NOTE, lanes: [1, 3], address: 'http://10.0.0.7:8080' }));
    const assigner = make({ cluster: {} as never, groupId: 'g', logger: {} as never });
    const own = assigner.protocol({ topics: ['t'] });
    expect(addressIn(own.metadata)).toBe('http://10.0.0.7:8080');
    const members = [
      { memberId: 'a', memberMetadata: own.metadata },
      // From a release that did not send addresses yet.
      { memberId: 'b', memberMetadata: metadata('[0,2]') },
    ];
    const given = await assigner.assign({ members, topics: ['t'] });
    const lanes = given.map(({ memberAssignment, memberId }) => [
      memberId,
      AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment['t'],
    ]);
    expect(Object.fromEntries(lanes)).toEqual({ a: [1, 3], b: [0, 2] });
  });

  it.each([
    'file:///etc/passwd',
    'ftp://10.0.0.7:21',
    'http://user:secret@10.0.0.7:8080',
    'http://10.0.0.7:8080/path',
    'http://10.0.0.7:8080/?query',
    'http://10.0.0.7:8080#fragment',
    'http://10.0.0.7:0',
    'http://10.0.0.7:8080\r\nhost: elsewhere',
    ' http://10.0.0.7:8080',
    '//10.0.0.7:8080',
    'http://$(reboot):8080',
    'http://a;b:8080',
    '10.0.0.7:8080',
    'javascript:alert(1)',
    `http://${'a'.repeat(300)}:8080`,
    '',
    7,
    null,
    { toString: () => 'http://10.0.0.7:8080' },
  ])('is not used where it is no scheme, host and port: %s', (text) => {
    expect(checkedAddress(text)).toBeNull();
    expect(addressIn(metadata(JSON.stringify([0, { http: text }])))).toBeNull();
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['noise', Buffer.from('ffffffffffffffff', 'hex')],
    ['no JSON', metadata('{[')],
    ['another shape', metadata('{"http":"http://10.0.0.7:8080"}')],
    ['notes that are null', metadata('[null, 0]')],
    ['too much', metadata(JSON.stringify(['x'.repeat(70_000), { http: 'http://10.0.0.7:8080' }]))],
  ])('is not read from metadata that is %s', (_what, bytes) => {
    expect(addressIn(bytes)).toBeNull();
  });
});
