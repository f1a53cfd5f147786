/** What the tables say of each metric. */

/** The values of a label; `lanes` are the numbers of the lanes, bounded by the setting LANES; `own` is one value of each process. */
export type LabelValues = readonly string[] | 'lanes' | 'own';

export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: Readonly<Record<string, LabelValues>>;
  /** Upper bounds of a histogram, in the unit of its name. */
  readonly buckets?: readonly number[];
}
