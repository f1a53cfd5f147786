/** Publishes the messages of a plan at their times. Repeats each until it is confirmed, as a careful publisher does. */
import { setTimeout as delay } from 'node:timers/promises';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import { laneOf } from 'payment-processor-contract/keys';
import { LANES, type Stack } from '../../test/support/stack.ts';
import type { ChaosMessage } from './chaos-commands.ts';
import type { CommandEncoder } from './unseen-schema.ts';

const RETRY_MS = 500;
/** Longer than any outage of a broker, including the time that clients need to find the new leaders. */
const PUBLISH_MS_MAX = 120_000;

export class Load {
  /** Messages that had to be published again because the first try was not confirmed. */
  republished = 0;
  published = 0;
  readonly #stack: Stack;
  readonly #encoder: CommandEncoder | null;
  readonly #firsts = new Map<string, Promise<void>>();
  readonly #underWay: Promise<void>[] = [];

  /** @param encoder writes the values instead of the publisher */
  constructor(stack: Stack, encoder: CommandEncoder | null = null) {
    this.#stack = stack;
    this.#encoder = encoder;
  }

  /** @returns once every message is confirmed */
  async run(messages: readonly ChaosMessage[]): Promise<void> {
    const beganMs = performance.now();
    for (const message of messages) {
      const waitMs = message.atMs - (performance.now() - beganMs);
      if (waitMs > 0) await delay(waitMs);
      const publication = this.#publish(message);
      // Awaited together below; until then a failure must not be an unhandled rejection.
      publication.catch(() => undefined);
      if (message.kind === 'first') this.#firsts.set(message.command.key, publication);
      this.#underWay.push(publication);
    }
    await Promise.all(this.#underWay);
  }

  async #publish(message: ChaosMessage): Promise<void> {
    // All messages of a key share a partition, so later ones are behind the first.
    if (message.kind !== 'first') await this.#firsts.get(message.command.key);
    const untilMs = performance.now() + PUBLISH_MS_MAX;
    for (;;) {
      try {
        await this.#publishOnce(message);
        this.published += 1;
        return;
      } catch (error) {
        if (performance.now() > untilMs) throw error;
        this.republished += 1;
        await delay(RETRY_MS);
      }
    }
  }

  async #publishOnce({ command, contentType, expiresAfterMs, fields, id, isMisrouted }: ChaosMessage): Promise<void> {
    const { commandType, key, isUnreadable } = command;
    const isInvalid = command.allowed.includes('INVALID');
    const expiresAt = expiresAfterMs === null ? null : new Date(Date.now() + expiresAfterMs);
    if (isMisrouted || isInvalid) {
      // Bypasses the client, which would refuse it.
      await this.#stack.publishRaw(commandType, {
        key,
        value: isUnreadable ? '{"this is not' : stringifyLossless(fields),
        headers: {
          'content-type': 'application/json',
          ce_id: id,
          ...(expiresAt === null ? {} : { 'expires-at': expiresAt.toISOString() }),
        },
        ...(isMisrouted ? { partition: (laneOf(key, LANES) + 1) % LANES } : {}),
      });
      return;
    }
    if (this.#encoder !== null) {
      const value = await this.#encoder(commandType, fields);
      await this.#stack.publishRaw(commandType, { key, value, headers: { ce_id: id } });
      return;
    }
    await this.#stack.publisher.publishUntyped(commandType, key, fields, {
      contentType,
      commandId: id,
      ...(expiresAt === null ? {} : { expiresAt }),
    });
  }
}
