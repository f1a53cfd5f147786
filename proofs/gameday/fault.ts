/** What a game day is made of. */
import type { Scene } from './scene.ts';

export interface Fault {
  /** One word or two, for `--only`. */
  readonly name: string;
  /** What is done to the deployment. */
  readonly what: string;
  /** Each must fire, and clear after the action. None: it heals by itself, and nobody may be paged for it. */
  readonly alerts: readonly string[];
  inject(scene: Scene): Promise<unknown>;
  /** What the runbooks say to do, both parts. */
  readonly action: string;
  /** Finding out, once the alerts fire. */
  look?(scene: Scene): Promise<unknown>;
  /** Putting right. */
  act(scene: Scene): Promise<unknown>;
  /** Alerts that clear only as their window passes: the next fault begins meanwhile. */
  readonly clearsLater?: readonly string[];
  /** A matter of single messages: the next fault begins at once. */
  readonly isBeside?: true;
}
