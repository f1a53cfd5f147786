/** Members as another member knows them, for tests of the group's state. */
import { processName } from '../../../src/consumers/group-processes.ts';
import type { KnownMember } from '../../../src/ops/group/known-member.ts';
import type { MemberFigures } from '../../../src/ops/group/member-report.ts';
import { RELEASE } from '../../../src/ops/release.ts';
import type { ProcessorState } from '../../../src/ops/processor-state.ts';
import { StateReader } from '../../../src/ops/state-reader.ts';
import type { FakeProcessor } from '../fake-processor.ts';

/** The state that a processor with this id would report. */
export async function stateOf(processor: FakeProcessor, processId: string): Promise<ProcessorState> {
  processor.lanes.processId = processId;
  return new StateReader(processor.sources()).read();
}

/** A member of the group that has just reported this. */
export function known(figures: MemberFigures, change: Partial<KnownMember> = {}): KnownMember {
  return {
    ...{ process: processName(figures.processId), isThis: false, standing: 'member', goneSinceMs: null },
    ...{ host: '10.0.0.8', address: 'http://10.0.0.8:8080', assigned: [], owned: [], ownedSince: null },
    ...{ release: RELEASE, figures, answeredMs: Date.parse(figures.at), fault: null },
    ...change,
  };
}
