/**
 * Whether this process can do its work, and why not. Pure.
 *
 * Readiness guides rollouts and people. Liveness is deliberately not here: it never depends on Kafka or the payment
 * service, because a restart fixes neither. The HTTP server answers it as long as the event loop runs.
 */
import type { PaymentApiSnapshot } from '../api/payment-api.ts';
import type { LaneSetStatus } from '../lanes/lane-status.ts';
import type { StartWait } from '../lanes/ownership/start-steps.ts';
import type { Trouble } from '../lanes/commits/troubles.ts';
import type { KafkaAccess } from '../producers/rights-check.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import { lanesInWords } from 'payment-processor-contract/keys';
import type { RegistryFault } from 'payment-processor-contract/registry';

export interface ReadinessInputs {
  /** Shutting down. */
  readonly isDraining: boolean;
  /** What startup waits for; null: nothing, or startup is over. */
  readonly starting: StartWait | null;
  readonly lanes: LaneSetStatus;
  /** Kafka's answer when last asked what it allows us. */
  readonly kafkaAccess: KafkaAccess;
  /** Why the registry was unusable when last asked; null: it was usable. */
  readonly registryFault: RegistryFault | null;
  readonly api: PaymentApiSnapshot;
  /** Operations that this process calls. */
  readonly servedOperations: readonly CommandType[];
}

export interface Readiness {
  readonly ready: boolean;
  /** Why it is not ready. A ready process may also have problems. */
  readonly reasons: readonly string[];
}

/** A single loss needs no action, for example after a broker restarted or the process was frozen. */
const LOSSES_REPORTED_MIN = 2;

interface Finding {
  readonly reason: string;
  readonly isBlocking: boolean;
}

/**
 * Not ready while any of these holds:
 * - the process is starting or draining
 * - Kafka refuses us
 * - the group, a lane, the service or the registry blocks the work
 * - the process leaves its lanes to other members (`standing-aside.ts`)
 */
export function readiness(inputs: ReadinessInputs): Readiness {
  const findings = [
    ...(inputs.isDraining ? [blocking('draining: the process is shutting down')] : []),
    ...(inputs.starting === null ? [] : [blocking(startInWords(inputs.starting))]),
    ...accessFindings(inputs.kafkaAccess),
    ...groupFindings(inputs.lanes),
    ...laneFindings(inputs.lanes, inputs.registryFault),
    ...(inputs.lanes.asideReason === null
      ? serviceFindings(inputs.api, inputs.servedOperations)
      : [blocking(`stands aside, and other members have the lanes: ${inputs.lanes.asideReason}`)]),
  ];
  return { ready: !findings.some((finding) => finding.isBlocking), reasons: findings.map((finding) => finding.reason) };
}

function startInWords({ failedTries, problem, waitedMs, what, whom }: StartWait): string {
  const tries = failedTries === 0 ? '' : `, ${failedTries} ${failedTries === 1 ? 'try' : 'tries'} failed`;
  const waited = `waited ${Math.round(waitedMs / 1000)} s for ${whom}${tries}`;
  return `starting: ${what}; ${waited}: ${problem ?? 'no answer yet'}`;
}

function accessFindings(access: KafkaAccess): Finding[] {
  switch (access.kind) {
    case 'allowed':
      return [];
    case 'refused':
      return access.problems.map((problem) => blocking(`refused by Kafka: ${problem}`));
    case 'unknown':
      // Not blocking: if Kafka does not answer, group and lanes already report it. This adds the address.
      return [{ reason: `Kafka access cannot be checked: ${access.problem}`, isBlocking: false }];
  }
}

function groupFindings(status: LaneSetStatus): Finding[] {
  if (status.isWarmingUp)
    return [
      blocking('not yet assigned: the process reads the ledger first; other processes serve its lanes meanwhile'),
    ];
  if (status.assigned === null) return [blocking('not yet assigned: the consumer group has not assigned any lanes')];
  if (status.isGroupConfirmed) return [];
  return [blocking('group not confirmed: Kafka has answered no heartbeat within the session timeout')];
}

function laneFindings(status: LaneSetStatus, registryFault: RegistryFault | null): Finding[] {
  const acquiring: number[] = [];
  const releasing: number[] = [];
  const findings: Finding[] = [];
  /** Lanes by problem, so that a shared problem is reported once. */
  const registryProblems = new Map<string, number[]>();
  for (const [lane, { stage, stoppedReason, inputs, trouble }] of status.lanes) {
    if (trouble !== null && trouble.losses >= LOSSES_REPORTED_MIN)
      findings.push({ reason: troubleInWords(lane, trouble), isBlocking: false });

    switch (stage) {
      case 'closed':
      case 'acquiring':
        acquiring.push(lane);
        break;
      case 'releasing':
        releasing.push(lane);
        break;
      case 'stopped':
        findings.push(blocking(`lane ${lane} is stopped: ${stoppedReason ?? 'no reason is known'}`));
        break;
      case 'open':
        break;
    }
    for (const { cause, problem } of inputs) {
      if (cause !== 'registry') continue;
      const text = problem ?? 'no reason is known';
      const lanes = registryProblems.get(text) ?? [];
      registryProblems.set(text, lanes.includes(lane) ? lanes : [...lanes, lane]);
    }
  }
  if (acquiring.length > 0) findings.push(blocking(`acquiring ${lanesInWords(acquiring)}`));
  if (releasing.length > 0) findings.push(blocking(`releasing ${lanesInWords(releasing)}`));
  for (const [problem, lanes] of registryProblems) {
    findings.push(blocking(`the schema registry cannot be used (${lanesInWords(lanes)}): ${problem}`));
  }
  if (registryFault !== null && registryProblems.size === 0) {
    // Not blocking: commands with known schemas need no registry. The next start does.
    const reason = `the schema registry cannot be used, but no command waits for it: ${registryFault.problem}`;
    findings.push({ reason, isBlocking: false });
  }
  return findings;
}

function troubleInWords(lane: number, { losses, message, reason }: Trouble): string {
  return `lost repeatedly: lane ${lane} (${losses} times recently); last reason: ${reason}: ${message}`;
}

function serviceFindings(api: PaymentApiSnapshot, served: readonly CommandType[]): Finding[] {
  const { state } = api;
  if (state.kind === 'unchecked') return [blocking('payment service not checked yet')];
  if (state.kind === 'held') return [blocking(`payment service held: ${state.reason}`)];
  const blocked = served.filter((operation) => ['open', 'checking'].includes(api.operations[operation].breaker));
  if (blocked.length === 0) return [];
  const reason = `breaker open for ${blocked.join(', ')}`;
  if (blocked.length === served.length) return [blocking(`payment service unreachable: ${reason}`)];
  // Not blocking: the process still serves the other operations.
  return [{ reason, isBlocking: false }];
}

function blocking(reason: string): Finding {
  return { reason, isBlocking: true };
}
