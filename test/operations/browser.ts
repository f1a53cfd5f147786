/** A real Chromium, watched for what the page must not do. */
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';

/** Where Debian installs it. */
const EXECUTABLE = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** What the browser logs about a response that is missing or not 200. */
const NETWORK_ERROR = 'Failed to load resource';
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) =>
  console.error('policy violated: ' + event.violatedDirective + ' ' + event.blockedURI));`;

/** A browser and the pages opened in it. */
export class VisitingBrowser {
  #browser: Browser | null = null;
  readonly #visits: Visit[] = [];

  async launch(): Promise<void> {
    this.#browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGUMENTS });
  }

  async visit(url: string, options: BrowserContextOptions = {}): Promise<Visit> {
    if (this.#browser === null) throw new Error('the browser has not been launched');
    const opened = await Visit.open(this.#browser, url, options);
    this.#visits.push(opened);
    return opened;
  }

  async endVisits(): Promise<void> {
    for (const visit of this.#visits.splice(0)) await visit.close();
  }

  /** Also removes its profile, which started empty. */
  async close(): Promise<void> {
    await this.#browser?.close();
  }
}

export class Visit {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #errors: string[] = [];
  readonly #requested = new Set<string>();

  private constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.page = page;
    page.on('pageerror', (error) => this.#errors.push(String(error)));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.#errors.push(message.text());
    });
    page.on('request', (request) => this.#requested.add(new URL(request.url()).origin));
  }

  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    await context.addInitScript({ content: REPORT_VIOLATIONS });
    const visit = new Visit(context, await context.newPage());
    await visit.page.goto(url);
    return visit;
  }

  /** Errors and warnings in the console, including violations of the content security policy. */
  errors(): string[] {
    return this.#errors.filter((text) => !text.startsWith(NETWORK_ERROR));
  }

  /** Console lines about responses that are missing or not 200. */
  networkErrors(): string[] {
    return this.#errors.filter((text) => text.startsWith(NETWORK_ERROR));
  }

  /** Origins that got any request. */
  origins(): string[] {
    return [...this.#requested];
  }

  /** All visible text of the page. */
  text(): Promise<string> {
    return this.page.locator('body').innerText();
  }

  close(): Promise<void> {
    return this.#context.close();
  }
}
