/**
 * The page for people: static files, read once, served with a policy that allows no content from other origins.
 *
 * The shell requires no token: it holds no data and asks for the token itself.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Route } from './http-server.ts';

/** The repository and the image have them; a copy of the sources alone does not. */
const RUNBOOKS = new URL('../../docs/runbooks/', import.meta.url);

/** Path to file. Only listed files are served. */
const FILES = {
  '/': 'index.html',
  '/page/base.css': 'base.css',
  '/page/parts.css': 'parts.css',
  '/page/icon.svg': 'icon.svg',
  '/page/main.js': 'main.js',
  '/page/connection.js': 'connection.js',
  '/page/elements.js': 'elements.js',
  '/page/findings.js': 'findings.js',
  '/page/lag.js': 'lag.js',
  '/page/member-findings.js': 'member-findings.js',
  '/page/members.js': 'members.js',
  '/page/next-steps.js': 'next-steps.js',
  '/page/overview.js': 'overview.js',
  '/page/search.js': 'search.js',
  '/page/service.js': 'service.js',
  '/page/tables.js': 'tables.js',
  '/page/verdict.js': 'verdict.js',
  '/page/words.js': 'words.js',
} as const;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Only our own files; no inline code or style, no markup from texts, no frames, no submitted forms. */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

export function pageRoutes(): Route[] {
  return [...fileRoutes(), ...runbookRoutes()];
}

/** Served as text for the page's links, so that runbooks are readable even if only the processor is reachable. */
function runbookRoutes(): Route[] {
  if (!existsSync(RUNBOOKS)) return [];
  const files = readdirSync(RUNBOOKS).filter((file) => file.endsWith('.md'));
  return files.map((file) => {
    const body = readFileSync(new URL(file, RUNBOOKS), 'utf8');
    const reply = { status: 200, contentType: 'text/plain; charset=utf-8', body, headers: HEADERS };
    return { path: `/runbooks/${file}`, isProtected: false, answer: () => reply };
  });
}

function fileRoutes(): Route[] {
  return Object.entries(FILES).map(([path, file]) => {
    const body = readFileSync(new URL(`page/${file}`, import.meta.url), 'utf8');
    const contentType = CONTENT_TYPES[file.slice(file.lastIndexOf('.') + 1)];
    if (contentType === undefined) throw new Error(`${file} has no content type`);
    return { path, isProtected: false, answer: () => ({ status: 200, contentType, body, headers: HEADERS }) };
  });
}
