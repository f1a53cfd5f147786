/** These run without Docker: they read the files and check them against what the files name. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readConfig, SETTINGS } from 'payment-processor-contract/config';
import { ROOT, runTool } from './tools.ts';

const service = z.strictObject({
  build: z.strictObject({ context: z.literal('.'), target: z.string() }).optional(),
  image: z.string().optional(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  init: z.boolean().optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  stop_grace_period: z.string().optional(),
  restart: z.string().optional(),
  network_mode: z.string().optional(),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  depends_on: z
    .union([
      z.array(z.string()),
      z.record(
        z.string(),
        z.strictObject({ condition: z.enum(['service_healthy', 'service_started', 'service_completed_successfully']) }),
      ),
    ])
    .optional(),
});
const composeFile = z.strictObject({
  name: z.string(),
  'x-processor': z.unknown(),
  services: z.record(z.string(), service),
});

const text = await readFile(join(ROOT, 'compose.yaml'), 'utf8');
const compose = composeFile.parse(parse(text, { merge: true }));
const ofProcessor = Object.entries(compose.services).filter(([, { build }]) => build?.target === 'processor');

describe('compose.yaml', () => {
  it('has services that depend on services that exist', () => {
    for (const { depends_on: needed = [], network_mode: mode } of Object.values(compose.services)) {
      const names = [...(Array.isArray(needed) ? needed : Object.keys(needed))];
      if (mode !== undefined) names.push(mode.replace('service:', ''));
      expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(names));
    }
  });

  it('waits for health only of services with a health check', () => {
    for (const { depends_on: needed } of Object.values(compose.services)) {
      if (needed === undefined || Array.isArray(needed)) continue;
      for (const [name, { condition }] of Object.entries(needed)) {
        if (condition === 'service_healthy') expect(compose.services[name]?.healthcheck).toBeDefined();
      }
    }
  });

  it.each(ofProcessor)(
    'gives %s settings that the processor can start with, and no others',
    (_name, { environment }) => {
      expect(Object.keys(SETTINGS)).toEqual(expect.arrayContaining(Object.keys(environment ?? {})));
      expect(readConfig(environment ?? {})).toMatchObject({ ok: true });
    },
  );

  it('pins every image by an exact version', () => {
    for (const { image, build } of Object.values(compose.services)) {
      if (build === undefined) expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
    }
  });

  it('opens ports on this machine only, and mounts files that exist', () => {
    for (const { ports = [], volumes = [] } of Object.values(compose.services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
      for (const volume of volumes) expect(existsSync(join(ROOT, volume.split(':')[0] ?? ''))).toBe(true);
    }
  });

  it('builds stages that the Dockerfile has', async () => {
    const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
    const stages = [...dockerfile.matchAll(/^FROM \S+ AS (\S+)$/gm)].map(([, stage]) => stage);
    for (const { build } of Object.values(compose.services))
      if (build !== undefined) expect(stages).toContain(build.target);
  });

  it('has a Prometheus that accepts its configuration and our rules', async () => {
    const configuration = join(ROOT, 'dev/operations/prometheus.yaml');
    // Outside the container the rules have a different path, so only the syntax can be checked here.
    expect(await runTool('promtool', ['check', 'config', '--syntax-only', configuration])).toMatchObject({ code: 0 });
  });
});
