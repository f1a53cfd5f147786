/** The page of a group of several members, each with real endpoints, in a real browser. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { VisitingBrowser, type Visit } from './browser.ts';
import { ShownProcessor } from '../ops/shown-processor.ts';

const TOKEN = 'a-token-of-the-group';
const browser = new VisitingBrowser();
const processors: ShownProcessor[] = [];

beforeAll(() => browser.launch());
afterAll(() => browser.close());

afterEach(async () => {
  await browser.endVisits();
  for (const processor of processors.splice(0)) {
    await processor.stop();
    expect(processor.errors).toEqual([]);
  }
});

/** A member with these lanes open. */
function member(processId: string, lanes: readonly number[], startedMs?: number): ShownProcessor {
  const made = new ShownProcessor(startedMs);
  made.lanes.processId = processId;
  made.lanes.assigned = lanes;
  made.lanes.keysRemembered = 48_211;
  made.lanes.lanes = new Map(lanes.map((lane) => [lane, made.lane()]));
  processors.push(made);
  return made;
}

interface Group {
  readonly asked: ShownProcessor;
  readonly second: ShownProcessor;
  readonly third: ShownProcessor;
  readonly url: string;
}

/** Three members with six lanes, after ten minutes of work; the first one answers. */
async function group(each: (made: ShownProcessor, index: number) => void = () => undefined): Promise<Group> {
  const asked = member('aaaaaaaa-1', [0, 1]);
  const second = member('bbbbbbbb-2', [2, 3]);
  const third = member('cccccccc-3', [4, 5]);
  for (const made of [asked, second, third]) {
    made.owners(
      [asked, second, third].map(({ lanes }) => ({
        processId: lanes.processId,
        lanes: lanes.assigned ?? [],
        atMs: made.nowMs,
      })),
    );
    await made.live(120, (index) => {
      const results = 10 + Math.round(5 * Math.sin(index / 15));
      for (let number = 0; number < results; number += 1) {
        made.result(number % 9 === 0 ? 'REFUSED' : 'ACCEPTED', number % 3 === 0 ? 'create-quote' : 'transfer-in');
        made.call(40 + ((number * 13 + index) % 60));
      }
      each(made, index);
    });
  }
  await second.serve(TOKEN);
  await third.serve(TOKEN);
  const url = await asked.serve(TOKEN);
  asked.groupWith({ processor: second, lanes: [2, 3] }, { processor: third, lanes: [4, 5] });
  return { asked, second, third, url };
}

async function shown(url: string): Promise<Visit> {
  const opened = await browser.visit(url);
  await opened.page.getByLabel('Token').fill(TOKEN);
  await opened.page.keyboard.press('Enter');
  await opened.page.locator('#headline').waitFor();
  return opened;
}

function rowOf(opened: Visit, name: string): Promise<string> {
  return opened.page.locator('#members tbody tr', { hasText: name }).innerText();
}

async function expectNothingWide(opened: Visit): Promise<void> {
  const width = await opened.page.evaluate<number>('document.documentElement.scrollWidth');
  expect(width).toBeLessThanOrEqual(opened.page.viewportSize()?.width ?? 0);
  expect(opened.errors()).toEqual([]);
  expect(opened.origins()).toHaveLength(1);
}

describe('the page of a group', () => {
  it('shows sums, lanes and lag of all members, what each does, and what changed', async () => {
    const { asked, second, url } = await group((made, index) => {
      if (made.lanes.processId !== 'bbbbbbbb-2') return;
      const position = 5_000n - BigInt(index);
      const oldestTimestampMs = made.nowMs - 4_000;
      made.setLane(2, made.lane({ 'transfer-in': { position, cause: 'no-slot', oldestTimestampMs } }));
    });
    asked.lanes.callsRunning = 17;
    second.lanes.callsRunning = 100;
    second.timeline.note('breaker', 'opened the breaker of execute-quote (60 % faults, last: lost)');
    second.timeline.note(
      'decision',
      'carried out: RETRY of the key with hash 0011223344556677 in lane 2, by <b>ada</b>',
    );
    const opened = await shown(url);
    await opened.page.getByText('3 of 3 members reporting').waitFor();
    const text = await opened.text();
    expect(await opened.page.locator('#headline').innerText()).toBe('Healthy');
    expect(text).toContain('3 of 3 members reporting. This page is from aaaaaaaa');
    expect(text).toMatch(/Waiting in Kafka\s+119\s+no free call slot/);
    expect(text).toMatch(/Calls under way\s+117 of 300/);
    expect(text).toMatch(/Lanes open\s+6 of 6\s+all of them/);
    // Each member has the ledger of all lanes, so this is not summed.
    expect(text).toContain('48,211 keys remembered');
    expect(await opened.page.locator('#lanes tbody tr').count()).toBe(6);
    expect(await rowOf(opened, 'bbbbbbbb')).toMatch(/ready, up 10 min 3 s\s+2 to 3\s+119\s+4 s\s+0\s+100 of 100\s+now/);
    const results = await opened.page.locator('#results tbody tr', { hasText: 'transfer-in' }).innerText();
    const own = (made: ShownProcessor): number =>
      made.activity
        .state()
        .results.filter(({ command, outcome }) => command === 'transfer-in' && outcome === 'ACCEPTED')
        .reduce((sum, { count }) => sum + count, 0);
    expect(results).toContain((3 * own(asked)).toLocaleString('en'));
    const changes = await opened.page.locator('#timeline').innerText();
    expect(changes).toMatch(/bbbbbbbb\s+opened the breaker of execute-quote/);
    expect(changes).toMatch(
      /bbbbbbbb\s+carried out: RETRY of the key with hash 0011223344556677 in lane 2, by <b>ada<\/b>/,
    );
    expect(await opened.page.locator('#timeline b').count()).toBe(0);
    expect(changes).toMatch(/cccccccc\s+got lanes 4 to 5/);
    await expectNothingWide(opened);
  });

  it('a member that is down: since when, what it had, its last figures, and what to do', async () => {
    const { asked, second, third, url } = await group((made) => {
      if (made.lanes.processId !== 'cccccccc-3') return;
      made.setLane(4, made.lane({ 'transfer-in': { position: 4_660n } }));
    });
    const opened = await shown(url);
    await opened.page.getByText('3 of 3 members reporting').waitFor();
    // Killed: still a member according to Kafka, but it does not answer.
    await third.stop();
    asked.nowMs += 12_000;
    second.nowMs += 12_000;
    await opened.page.getByText(/No report from member cccccccc since/).waitFor();
    expect(await rowOf(opened, 'cccccccc')).toMatch(/no report: its address cannot be reached\s+4 to 5\s+340\s/);
    expect(await opened.text()).toMatch(/Oldest without a result\s+not known/);
    // Removed from the group; its lanes are not taken over yet.
    asked.groupOffsets.set(4, 4_990n);
    asked.groupWith({ processor: second, lanes: [2, 3] });
    await opened.page.getByText(/Member cccccccc has been gone since \d\d:\d\d:\d\d/).waitFor();
    expect(await opened.page.locator('#headline').innerText()).toBe('Not healthy');
    const first = opened.page.locator('#findings li').first();
    expect(await first.innerText()).toMatch(/It owned 2 lanes: 4 to 5\./);
    expect(await first.innerText()).toMatch(/Lanes 4 to 5 are not open anywhere yet; .+ Last report \d\d:\d\d:\d\d/);
    expect(await first.locator('code').innerText()).toBe('npm run cli -- doctor');
    const href = (await first.getByRole('link', { name: 'Runbook: member-gone' }).getAttribute('href')) ?? '';
    expect((await fetch(new URL(href, url))).status).toBe(200);
    // Ten in each of five topics.
    expect(await opened.text()).toMatch(/Waiting in Kafka\s+50\s+no member reports the lane/);
    expect(await rowOf(opened, 'cccccccc')).toMatch(/gone since \d\d:\d\d:\d\d\s+had 4 to 5\s+340\s/);
    expect(await opened.page.locator('#timeline').innerText()).toMatch(
      /cccccccc\s+is no longer in the group; had lanes 4 to 5/,
    );
    await expectNothingWide(opened);
    // Taken over: a warning remains.
    for (const lane of [4, 5]) asked.setLane(lane, asked.lane());
    await opened.page.getByText('Other members have opened all of them.').waitFor();
    expect(await opened.page.locator('#headline').innerText()).toBe('Working, with warnings');
  });

  it('a member that shut down in order, whose lanes are open elsewhere, or that was restarted: no finding', async () => {
    const { asked, second, third, url } = await group();
    const opened = await shown(url);
    third.isDraining = true;
    await opened.page.getByText(/Draining: the process is shutting down at cccccccc/).waitFor();
    for (const lane of [4, 5]) asked.setLane(lane, asked.lane());
    asked.groupWith({ processor: second, lanes: [2, 3] });
    await opened.page.getByText('is no longer in the group; had lanes 4 to 5').waitFor();
    expect(await rowOf(opened, 'cccccccc')).toMatch(/gone since/);
    expect(await opened.page.locator('#headline').innerText()).toBe('Healthy');
    // Killed and replaced.
    await second.stop();
    const again = member('dddddddd-4', [2, 3], asked.nowMs + 1_000);
    await again.serve(TOKEN);
    asked.groupWith({ processor: again, lanes: [2, 3] });
    await opened.page.getByText('joined the group').waitFor();
    await opened.page.getByText('2 of 2 members reporting').waitFor();
    expect(await rowOf(opened, 'bbbbbbbb')).toMatch(/gone since/);
    expect(await opened.page.locator('#headline').innerText()).toBe('Healthy');
  });

  it('members that refuse, announce no address, or run another release: each is shown, and counts in no sum', async () => {
    const asked = member('aaaaaaaa-1', [0, 1]);
    const other = member('bbbbbbbb-2', [2, 3]);
    await asked.live(13);
    await other.live(13);
    await other.serve('another-token-altogether');
    const url = await asked.serve(TOKEN);
    asked.groupWith({ processor: other, lanes: [2, 3] }, { processor: member('cccccccc-3', [4, 5]), lanes: [4, 5] });
    const opened = await shown(url);
    await opened.page.getByText(/No report from member bbbbbbbb since .+: its HTTP_AUTH_TOKEN differs/).waitFor();
    await opened.page.getByText(/No report from member cccccccc since .+: it has no address in the group/).waitFor();
    expect(await opened.text()).toContain('1 of 3 members reporting.');
    expect(await opened.page.locator('#headline').innerText()).toBe('Working, with warnings');
    const command = opened.page.locator('#findings li').first().locator('code');
    expect(await command.innerText()).toMatch(/^node -e "fetch\('http:\/\/127\.0\.0\.1:\d+\/health\/ready'\)/);
    expect(await opened.text()).toMatch(/Admitted, unfinished\s+0 or more/);
    await expectNothingWide(opened);
  });
});
