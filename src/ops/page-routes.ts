/**
 * Serves the page: static files, read once, under a policy that allows no content from other origins.
 *
 * The files require no token: they hold no data, and the page asks for the token itself.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Route } from './http-server.ts';

/** In the repository and the image; a copy of the sources alone lacks them. */
const RUNBOOKS = new URL('../../docs/runbooks/', import.meta.url);

const PAGE = new URL('page/', import.meta.url);
/** Other files of the folder are not served. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Only our own files; no inline code or style, no markup from strings, no frames, no submitted forms. */
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

/** The page links to them here, so that people can read runbooks even if they can only reach the processor. */
function runbookRoutes(): Route[] {
  if (!existsSync(RUNBOOKS)) return [];
  const files = readdirSync(RUNBOOKS).filter((file) => file.endsWith('.md'));
  return files.map((file) => fileRoute(`/runbooks/${file}`, new URL(file, RUNBOOKS), 'text/plain; charset=utf-8'));
}

function fileRoutes(): Route[] {
  return readdirSync(PAGE).flatMap((file): Route[] => {
    const contentType = CONTENT_TYPES[file.slice(file.lastIndexOf('.') + 1)];
    if (contentType === undefined) return [];
    return [fileRoute(file === 'index.html' ? '/' : `/page/${file}`, new URL(file, PAGE), contentType)];
  });
}

function fileRoute(path: string, file: URL, contentType: string): Route {
  const reply = { status: 200, contentType, body: readFileSync(file, 'utf8'), headers: HEADERS };
  return { path, isProtected: false, answer: () => reply };
}
