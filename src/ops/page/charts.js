/**
 * Lines over the last quarter of an hour, as SVG. Each chart is read by the pointer or, when it has the focus, by the
 * arrow keys; what is read is told in words below it.
 */
import { drawn, element, setText } from './elements.js';
import { counted, timeOfDay } from './words.js';

/** @typedef {import('../group/group-history.ts').GroupSample} Sample */
/** @typedef {{ name: string, valueOf: (sample: Sample) => number | null }} Series */
/**
 * @typedef {object} ChartKind
 * @property {string} title
 * @property {(value: number) => string} format
 * @property {readonly number[]} tops where the axis may end, ascending; beyond the last it ends at a round number
 * @property {readonly Series[]} series
 */

const SPAN_MS = 15 * 60_000;
/** Samples further apart are not joined: nothing is known of the time between. */
const GAP_MS = 15_000;
const HEIGHT = 150;
const MARGIN = { top: 8, right: 8, bottom: 20, left: 58 };
const WIDTH_MIN = 240;
const GRID_LINES = 2;

export class Chart {
  /** @type {ChartKind} */
  #kind;
  /** @type {readonly Sample[]} */
  #samples = [];
  #nowMs = 0;
  /** Members whose samples a point is made of, at the most. */
  #membersMost = 0;
  /** The sample that is read; null: the youngest. @type {number | null} */
  #readIndex = null;
  #plot = element('div', { className: 'plot' });
  #reading = element('p', { className: 'reading' });
  figure;

  /** @param {ChartKind} kind */
  constructor(kind) {
    this.#kind = kind;
    const legend = element(
      'ul',
      { className: 'legend' },
      ...kind.series.map((series, index) => legendOf(series, index)),
    );
    const caption = element('figcaption', {}, element('h3', { text: kind.title }), legend);
    this.figure = element('figure', { className: 'chart' }, caption, this.#plot, this.#reading);
    this.#plot.tabIndex = 0;
    this.#plot.setAttribute('role', 'slider');
    this.#plot.setAttribute('aria-label', `${kind.title}, last 15 minutes`);
    this.#plot.addEventListener('keydown', (event) => this.#move(event));
    this.#plot.addEventListener('pointermove', (event) => this.#point(event));
    this.#plot.addEventListener('pointerleave', () => this.#readAt(null));
    this.#plot.addEventListener('blur', () => this.#readAt(null));
    new ResizeObserver(() => this.#draw()).observe(this.#plot);
  }

  /**
   * @param {readonly Sample[]} samples
   * @param {number} nowMs on the processor's clock
   */
  show(samples, nowMs) {
    this.#samples = samples.filter((sample) => Date.parse(sample.at) >= nowMs - SPAN_MS);
    this.#nowMs = nowMs;
    this.#membersMost = Math.max(0, ...this.#samples.map(({ members }) => members));
    this.#draw();
  }

  #draw() {
    const width = Math.max(this.#plot.clientWidth, WIDTH_MIN);
    const values = this.#kind.series.flatMap((series) => this.#samples.map((sample) => series.valueOf(sample) ?? 0));
    const highest = Math.max(0, ...values);
    const top = this.#kind.tops.find((candidate) => candidate >= highest) ?? roundedUp(highest);
    /** @param {Sample} sample */
    const x = (sample) => this.#x(sample, width);
    /** @param {number} value */
    const y = (value) => HEIGHT - MARGIN.bottom - (value / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
    const svg = drawn('svg', { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, 'aria-hidden': 'true' });
    for (let line = 0; line <= GRID_LINES; line += 1) {
      const value = (top * line) / GRID_LINES;
      svg.append(
        drawn('line', { class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
        drawn('text', { x: MARGIN.left - 6, y: y(value) + 4, 'text-anchor': 'end' }, this.#kind.format(value)),
      );
    }
    for (const minutes of [15, 10, 5, 0]) svg.append(timeLabel(minutes, width));
    this.#kind.series.forEach((series, index) => {
      for (const d of pathsOf(this.#samples, series, x, y))
        svg.append(drawn('path', { class: `line line-${index}`, d }));
    });
    const read = this.#readIndex === null ? undefined : this.#samples[this.#readIndex];
    if (read !== undefined) {
      svg.append(
        drawn('line', { class: 'cursor', x1: x(read), x2: x(read), y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }),
      );
    }
    this.#plot.replaceChildren(svg);
    this.#tell();
  }

  #tell() {
    const index = this.#readIndex ?? this.#samples.length - 1;
    const sample = this.#samples[index];
    const text = sample === undefined ? 'No samples yet.' : this.#inWords(sample);
    setText(this.#reading, text);
    this.#plot.setAttribute('aria-valuemin', '0');
    this.#plot.setAttribute('aria-valuemax', String(Math.max(0, this.#samples.length - 1)));
    this.#plot.setAttribute('aria-valuenow', String(Math.max(0, index)));
    this.#plot.setAttribute('aria-valuetext', text);
  }

  /** @param {Sample} sample */
  #inWords(sample) {
    const values = this.#kind.series.map((series) => {
      const value = series.valueOf(sample);
      return `${series.name} ${value === null ? 'none' : this.#kind.format(value)}`;
    });
    const of = sample.members === this.#membersMost ? '' : ` (of ${counted(sample.members, 'member')})`;
    return `${timeOfDay(new Date(sample.at))}: ${values.join(', ')}${of}`;
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const last = this.#samples.length - 1;
    const from = this.#readIndex ?? last;
    /** @type {Readonly<Record<string, number>>} */
    const targets = {
      ArrowLeft: from - 1,
      ArrowRight: from + 1,
      PageUp: from - 12,
      PageDown: from + 12,
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (target === undefined || last < 0) return;
    event.preventDefault();
    this.#readAt(Math.min(Math.max(target, 0), last));
  }

  /** @param {PointerEvent} event */
  #point(event) {
    const width = Math.max(this.#plot.clientWidth, WIDTH_MIN);
    const at = event.clientX - this.#plot.getBoundingClientRect().left;
    const distances = this.#samples.map((sample) => Math.abs(this.#x(sample, width) - at));
    if (distances.length > 0) this.#readAt(distances.indexOf(Math.min(...distances)));
  }

  /** @param {number | null} index */
  #readAt(index) {
    if (this.#readIndex === index) return;
    this.#readIndex = index;
    this.#draw();
  }

  /**
   * @param {Sample} sample
   * @param {number} width
   */
  #x(sample, width) {
    const share = 1 - (this.#nowMs - Date.parse(sample.at)) / SPAN_MS;
    return MARGIN.left + share * (width - MARGIN.left - MARGIN.right);
  }
}

/**
 * @param {Series} series
 * @param {number} index
 */
function legendOf(series, index) {
  const swatch = drawn('svg', { width: 22, height: 8, 'aria-hidden': 'true' });
  swatch.append(drawn('path', { class: `line line-${index}`, d: 'M1 4H21' }));
  return element('li', {}, swatch, document.createTextNode(series.name));
}

/**
 * @param {number} minutes
 * @param {number} width
 */
function timeLabel(minutes, width) {
  const x = MARGIN.left + (1 - minutes / 15) * (width - MARGIN.left - MARGIN.right);
  const anchor = minutes === 0 ? 'end' : minutes === 15 ? 'start' : 'middle';
  const text = minutes === 0 ? 'now' : `-${minutes} min`;
  return drawn('text', { x, y: HEIGHT - 4, 'text-anchor': anchor }, text);
}

/**
 * A path for each run of samples without a gap.
 * @param {readonly Sample[]} samples
 * @param {Series} series
 * @param {(sample: Sample) => number} x
 * @param {(value: number) => number} y
 */
function pathsOf(samples, series, x, y) {
  /** @type {string[]} */
  const paths = [];
  let lastMs = -Infinity;
  for (const sample of samples) {
    const value = series.valueOf(sample);
    if (value === null) {
      lastMs = -Infinity;
      continue;
    }
    const atMs = Date.parse(sample.at);
    const point = `${x(sample).toFixed(1)} ${y(value).toFixed(1)}`;
    const isJoined = atMs - lastMs <= GAP_MS;
    // A line to where it already is makes a point of its own seen.
    if (isJoined) paths.push(`${paths.pop() ?? ''}L${point}`);
    else paths.push(`M${point}L${point}`);
    lastMs = atMs;
  }
  return paths;
}

/**
 * The next of 1, 2, 4, 6 and 10 times a power of ten, so that half of it is a short number too.
 * @param {number} value
 */
function roundedUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 4, 6, 10].find((factor) => factor * power >= value) ?? 10);
}
