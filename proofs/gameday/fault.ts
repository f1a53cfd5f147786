/** One fault of a game day. */
import type { Scene } from './scene.ts';

export interface Fault {
  /** One or two words, for `--only`. */
  readonly name: string;
  /** Injects the fault into the deployment. */
  readonly what: string;
  /** Each must fire, and clear after the action. Empty: it heals by itself, and must page nobody. */
  readonly alerts: readonly string[];
  inject(scene: Scene): Promise<unknown>;
  /** What the runbooks say to do, in two parts. */
  readonly action: string;
  /** Diagnosis, once the alerts fire. */
  look?(scene: Scene): Promise<unknown>;
  /** Repair. */
  act(scene: Scene): Promise<unknown>;
  /** Alerts that clear only as their window passes: the next fault starts meanwhile. */
  readonly clearsLater?: readonly string[];
  /** Concerns single messages only: the next fault starts at once. */
  readonly isBeside?: true;
}
