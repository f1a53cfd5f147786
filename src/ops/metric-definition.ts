/** The definition of one metric. */

/** The values of a label; `lanes`: lane numbers, bounded by the setting LANES; `own`: one value per process. */
export type LabelValues = readonly string[] | 'lanes' | 'own';

export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: Readonly<Record<string, LabelValues>>;
  /** Upper bounds of a histogram, in the unit of its name. */
  readonly buckets?: readonly number[];
}
