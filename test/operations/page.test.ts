/**
 * The page in a browser: of one processor. test/ops/page-verdict.test.ts tests its verdict on states, group-page.test.ts the page of
 * several, and that it shows a change without a reload.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { entry, SECRET_KEY } from '../ops/fake-processor.ts';
import { VisitingBrowser, type Visit } from './browser.ts';
import { ShownProcessor } from '../ops/shown-processor.ts';

const TOKEN = 'a-token-of-the-test';
const PHONE = { viewport: { width: 375, height: 800 } };
const browser = new VisitingBrowser();
let processor: ShownProcessor;

beforeAll(() => browser.launch());
afterAll(() => browser.close());

afterEach(async () => {
  await browser.endVisits();
  await processor.stop();
  expect(processor.errors).toEqual([]);
});

/** The processor's page, once it shows a state. */
async function shown(): Promise<Visit> {
  const opened = await browser.visit(await processor.serve());
  await opened.page.locator('#headline').waitFor();
  return opened;
}

async function expectClean(opened: Visit): Promise<void> {
  expect(opened.errors()).toEqual([]);
  expect(opened.networkErrors()).toEqual([]);
  expect(opened.origins()).toHaveLength(1);
  // Every finding has advice.
  for (const item of await opened.page.locator('#findings li').all()) {
    expect(await item.locator('span').innerText(), await item.innerText()).not.toBe('');
  }
}

function healthy(): ShownProcessor {
  const made = new ShownProcessor();
  made.openLanes();
  return made;
}

/** 15 minutes of ordinary work. */
async function worked(made: ShownProcessor): Promise<void> {
  await made.live(180, (index) => {
    const results = 40 + Math.round(20 * Math.sin(index / 20));
    for (let number = 0; number < results; number += 1) {
      made.result(number % 20 === 0 ? 'REFUSED' : 'ACCEPTED', number % 3 === 0 ? 'create-quote' : 'transfer-in');
      made.call(40 + ((number * 13 + index) % 60));
    }
  });
}

describe('the page finds one command by its key', () => {
  it('shows phase, calls and doubt, keeps the key out of the URL, and says what it does not know', async () => {
    processor = healthy();
    const { nowMs } = processor;
    const doubtful = entry('transfer-in', nowMs - 60_000, {
      state: 'DOUBTFUL',
      settleAtMs: nowMs + 5_000,
      reason: 'no answer came',
      refusal: null,
    });
    processor.commands.set(SECRET_KEY, { ...doubtful, attempts: 2, firstSentMs: nowMs - 30_000, lastEndedMs: nowMs });
    const opened = await shown();
    const asked: string[] = [];
    opened.page.on('request', (request) => asked.push(request.url()));
    const lookUp = async (key: string): Promise<void> => {
      await opened.page.getByLabel('Key', { exact: true }).fill(key);
      await opened.page.getByRole('button', { name: 'Look it up' }).click();
    };
    await lookUp(SECRET_KEY);
    await opened.page.locator('#search-result dd').first().waitFor();
    expect(await opened.page.locator('#search-answer').innerText()).toMatch(/^As of \d\d:\d\d:\d\d\. /);
    const found = await opened.page.locator('#search-result').innerText();
    expect(found).toMatch(/Phase\s+DOUBTFUL/);
    expect(found).toMatch(/Calls that may have been sent\s+2/);
    expect(found).toMatch(/Doubt\s+a call since 2026-03-01T11:59:30.000Z may have taken effect/);
    await lookUp('nobody-knows');
    await opened.page.getByText(/^Not found: .*has no such key/).waitFor();
    expect(await opened.page.locator('#search-result').innerText()).toBe('');
    await lookUp('a.execute');
    await opened.page.getByText(/^Not answered: it answers HTTP 400/).waitFor();
    expect(asked.filter((url) => url.endsWith('/api/command'))).toHaveLength(3);
    expect(asked.join(' ')).not.toContain(SECRET_KEY);
    expect(opened.errors()).toEqual([]);
  });
});

describe('the page shows the state of the processor', () => {
  it('a state that it cannot show is not called live', async () => {
    processor = healthy();
    const opened = await shown();
    // Another release answers at the address.
    await opened.page.route('**/api/group', (route) => route.fulfill({ json: { at: new Date(0).toISOString() } }));
    await opened.page.getByText('Cannot be shown: reload the page').waitFor();
  });

  it("SANDBOX_COMMANDS is off: says that the sandbox's commands are not read", async () => {
    processor = healthy();
    for (const lane of processor.lanes.lanes.keys()) {
      const { inputs } = processor.lane();
      const served = inputs.filter(({ name }) => name !== 'simulate-uma-receive');
      processor.setLane(lane, processor.lane({}, { inputs: served }));
    }
    await processor.live(12);
    const opened = await shown();
    const rows = opened.page.locator('#commands tbody tr', { hasText: 'simulate-uma-receive' });
    expect(await rows.allInnerTexts()).toEqual([expect.stringContaining('not read: SANDBOX_COMMANDS is off')]);
    await expectClean(opened);
  });

  it('every breaker open: unreachable, nowhere "serving", with a command to copy and a runbook', async () => {
    processor = healthy();
    for (const operation of Object.values(processor.api.operations)) {
      Object.assign(operation, { breaker: 'open', lastFault: 'ECONNREFUSED', callsUnderWay: 0, allowance: 0 });
    }
    await processor.live(13);
    const opened = await shown();
    const text = await opened.text();
    expect(text).toContain('Payment service unreachable');
    expect(text).toContain('the service is unreachable: every breaker is open');
    expect(text).not.toContain('serving');
    const first = opened.page.locator('#findings li').first();
    expect(await first.locator('code').innerText()).toBe('npm run cli -- doctor');
    const link = first.getByRole('link', { name: 'Runbook: PaymentsBreakerOpen' });
    const runbook = await fetch(new URL((await link.getAttribute('href')) ?? '', opened.page.url()));
    expect(runbook.status).toBe(200);
    expect(await runbook.text()).toMatch(/^# PaymentsBreakerOpen\n[^]*## Action/);
    await expectClean(opened);
  });

  it('UNKNOWN, doubt and dead letters: how many, how old, and keys only as hashes', async () => {
    processor = healthy();
    await processor.live(3);
    processor.unknown('execute-quote', SECRET_KEY, 2, 7_500_000);
    processor.unknown('reject-transaction', 'other-key', 3, 60_000);
    processor.result('FAILED', 'transfer-in', 'failed-key');
    processor.deadLetter('UNREADABLE');
    processor.deadLetter('NO_KEY');
    processor.deadLetter('NO_KEY');
    const doubt = { state: 'DOUBTFUL', settleAtMs: 0, reason: 'r', refusal: null } as const;
    const parked = { state: 'PARKED', untilMs: 0, reason: 'r' } as const;
    const entries = [
      entry('execute-quote', processor.nowMs - 700_000, doubt),
      entry('transfer-in', processor.nowMs - 9_000, parked),
    ];
    processor.setLane(1, processor.lane({}, { entries }));
    await processor.live(1);
    const opened = await shown();
    const text = await opened.text();
    expect(await opened.page.locator('#headline').innerText()).toBe('Working, with warnings');
    expect(text).toContain('2 payment outcomes are unknown, the oldest for 2 h 5 min. An operator must decide.');
    expect(text).toContain('npm run cli -- unknown list');
    expect(text).toContain('3 dead letters are open (UNREADABLE 1, NO_KEY 2), the newest 5 s old');
    expect(text).toContain('npm run cli -- dead-letters list --open');
    for (const link of await opened.page.locator('#findings a').all()) {
      const href = (await link.getAttribute('href')) ?? '';
      expect([href, (await fetch(new URL(href, opened.page.url()))).status]).toEqual([href, 200]);
    }
    expect(text).toContain('1 execute-quote command is in doubt');
    expect(text).toContain('1 execute-quote in doubt; 1 transfer-in to be tried later.');
    expect(await opened.page.locator('#unknown tbody tr').count()).toBe(2);
    expect(await opened.page.locator('#unknown tbody tr').first().innerText()).toMatch(
      /^[0-9a-f]{8,}\s+execute-quote\s+2\s+2 h 5 min$/,
    );
    expect(await opened.page.content()).not.toContain(SECRET_KEY);
    await expectClean(opened);
  });

  it('just started: says so, and shows no unknown figure as known', async () => {
    processor = new ShownProcessor();
    processor.lanes.assigned = null;
    processor.lanes.lanes = new Map();
    processor.api.state = { kind: 'unchecked' };
    const opened = await shown();
    const text = await opened.text();
    expect(await opened.page.locator('#headline').innerText()).toBe('Starting');
    expect(text).toMatch(/Waiting in Kafka\s+not known/);
    expect(text).toMatch(/Lanes open\s+0 of 6\s+none assigned yet/);
    await expectClean(opened);
  });

  it('Kafka down: says that lag is old, that membership is not confirmed, and which lanes wait', async () => {
    processor = healthy();
    await worked(processor);
    await processor.live(12);
    processor.ends = () => new Promise(() => undefined);
    processor.lanes.isGroupConfirmed = false;
    for (const lane of [0, 1, 2]) processor.setLane(lane, processor.lane({}, { stage: 'acquiring' }));
    processor.nowMs += 90_000;
    await processor.live(1);
    const opened = await shown();
    expect(await opened.page.locator('#headline').innerText()).toBe('Not healthy');
    await opened.page.getByText(/Kafka has answered no heartbeat/).waitFor();
    expect(await opened.text()).toMatch(/Waiting in Kafka\s+0\s+as of 1 min 35 s ago/);
    expect(await opened.page.locator('#findings li').first().innerText()).toContain('Kafka has not answered for 1 min');
    await expectClean(opened);
  });

  it('a stopped lane: says that it needs an operator, with its reason as text, never as markup', async () => {
    processor = healthy();
    await processor.live(13);
    const stoppedReason = 'offset 7 is gone <img src="x" onerror="document.title=1"><b>bold</b>';
    processor.setLane(4, processor.lane({}, { stage: 'stopped', stoppedReason }));
    const opened = await shown();
    expect(await opened.page.locator('#headline').innerText()).toBe('Not healthy');
    expect(await opened.text()).toContain(`Lane 4 is stopped: ${stoppedReason}`);
    expect(await opened.page.locator('#state img, #state b').count()).toBe(0);
    expect(await opened.text()).toMatch(/Lanes open\s+5 of 6\s+1 stopped/);
    await expectClean(opened);
  });
});

describe('the page follows the processor', () => {
  it('gone: says since when, keeps the last known state, and reconnects', async () => {
    processor = healthy();
    await worked(processor);
    const opened = await shown();
    expect(await opened.page.locator('#headline').innerText()).toBe('Healthy');
    expect(await opened.page.locator('#findings li').count()).toBe(0);
    expect(await opened.text()).toContain('1 of 1 member reporting. This page is from process-, up for 15 min.');
    const port = Number(new URL(opened.page.url()).port);
    await processor.stop();
    await opened.page.getByText(/Not answering since \d\d:\d\d:\d\d \(.+\): it cannot be reached/).waitFor();
    expect(await opened.page.title()).toContain('Not answering');
    expect(await opened.page.locator('#headline').innerText()).toBe('Not answering');
    const text = await opened.text();
    expect(text).toContain('Last known state: Healthy. Everything below is from then.');
    expect(text).toMatch(/Lanes open\s+6 of 6/);
    await processor.serve(null, port);
    await opened.page.getByText('Live', { exact: true }).waitFor();
    expect(await opened.page.locator('#headline').innerText()).toBe('Healthy');
    expect(opened.errors()).toEqual([]);
  });
});

describe('with a token set', () => {
  it('shows nothing without it, refuses a wrong one, and keeps the right one for the tab', async () => {
    processor = healthy();
    const opened = await browser.visit(await processor.serve(TOKEN));
    const { page } = opened;
    await page.getByLabel('Token').waitFor();
    expect(await page.locator('#state').isVisible()).toBe(false);
    expect(await opened.text()).not.toContain('lanes');
    // The field has the focus.
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('does not accept this token').waitFor();
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await page.locator('#headline').waitFor();
    await page.reload();
    await page.locator('#headline').waitFor();
    await page.getByRole('button', { name: 'Forget token' }).click();
    await page.getByLabel('Token').waitFor();
    expect(await page.content()).not.toContain(processor.lanes.processId);
    expect(await opened.text()).not.toContain('transfer-in');
    expect(opened.errors()).toEqual([]);
  });
});

describe('the page is for everyone', () => {
  it('can be used with the keyboard alone', async () => {
    processor = healthy();
    await worked(processor);
    const { page } = await shown();
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('Skip to the state');
    await page.keyboard.press('Enter');
    expect(await page.locator(':focus').getAttribute('id')).toBe('content');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').getAttribute('aria-labelledby')).toBe('commands-title');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').getAttribute('aria-labelledby')).toBe('members-title');
    await page.getByRole('link', { name: 'Find one command' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('Look it up');
  });

  it('has column and row headings in every table, and a name for every section', async () => {
    processor = healthy();
    const { page } = await shown();
    for (const table of await page.locator('table').all()) {
      const columns = await table.locator('thead th[scope=col]').count();
      expect(columns).toBeGreaterThan(2);
      for (const row of await table.locator('tbody tr:has(th)').all()) {
        expect(await row.locator('th[scope=row]').count()).toBe(1);
        expect(await row.locator('th, td').count()).toBe(columns);
      }
    }
    for (const region of await page.locator('section, [role=region]').all()) {
      const heading = page.locator(`#${await region.getAttribute('aria-labelledby')}`);
      expect(await heading.textContent()).not.toBe('');
    }
  });

  it('fits a phone, in both colour schemes, and honours reduced motion', async () => {
    processor = healthy();
    processor.setLane(0, processor.lane({ 'transfer-in': { position: 4_000n, cause: 'no-slot' } }));
    await worked(processor);
    for (const colorScheme of ['light', 'dark'] as const) {
      const opened = await browser.visit(await processor.serve(), { ...PHONE, colorScheme, reducedMotion: 'reduce' });
      await opened.page.locator('#headline').waitFor();
      const width = await opened.page.evaluate<number>('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(PHONE.viewport.width);
      const row = opened.page.locator('#commands tbody tr', { hasText: 'transfer-in' });
      expect(await row.innerText()).toContain('1,000: no free call slot');
      const transition = "getComputedStyle(document.getElementById('state')).transitionDuration";
      expect(await opened.page.evaluate<string>(transition)).toBe('0s');
      await expectClean(opened);
      await processor.stop();
    }
  });

  it('allows no content from other origins', async () => {
    processor = healthy();
    const answer = await fetch(await processor.serve(TOKEN));
    expect(answer.status).toBe(200);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    const body = await answer.text();
    expect(body).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(body).not.toContain(processor.lanes.processId);
  });
});
