/** Creates and changes nodes without markup: every text is inserted as text, never as HTML. */

/**
 * @typedef {{ text: string, kind?: 'good' | 'warning' | 'bad' | 'quiet', isNumber?: boolean, title?: string }} Cell
 */

/**
 * @param {string} id of an element that the page has
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no ${id}`);
  return element;
}

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {{ className?: string, text?: string }} properties
 * @param {Node[]} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, { className, text } = {}, ...children) {
  const made = document.createElement(name);
  if (className !== undefined) made.className = className;
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

/**
 * Sets the text only if it differs, so that an operator's selection stays.
 * @param {Element} target
 * @param {string} text
 */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/**
 * Makes an element's children match a list, and reuses existing ones.
 * @template Item
 * @param {Element} parent
 * @param {readonly Item[]} items
 * @param {() => Element} make
 * @param {(child: Element, item: Item) => void} fill
 */
export function fillChildren(parent, items, make, fill) {
  items.forEach((item, index) => {
    const child = parent.children[index] ?? parent.appendChild(make());
    fill(child, item);
  });
  while (parent.children.length > items.length) parent.lastElementChild?.remove();
}

/**
 * @param {string} id of the table
 * @param {readonly string[]} headings
 * @param {readonly (readonly Cell[])[]} rows the first cell of each is its heading
 * @param {string} none the text if there are no rows
 */
export function fillTable(id, headings, rows, none) {
  const table = /** @type {HTMLTableElement} */ (byId(id));
  const head = table.tHead ?? table.createTHead();
  const body = table.tBodies[0] ?? table.createTBody();
  const numbers = (rows[0] ?? []).map((cell) => cell.isNumber === true);
  fillChildren(head, [headings], newRow, (row, texts) =>
    fillChildren(
      row,
      texts,
      () => newHeading('col'),
      (cell, text) => {
        setText(cell, text);
        cell.className = numbers[texts.indexOf(text)] === true ? 'number' : '';
      },
    ),
  );
  table.classList.toggle('empty', rows.length === 0);
  /** @type {readonly (readonly Cell[])[]} */
  const shown = rows.length === 0 ? [[{ text: none, kind: 'quiet' }]] : rows;
  fillChildren(body, shown, newRow, (row, cells) => fillRow(row, cells, rows.length === 0 ? headings.length : 1));
}

/**
 * @template {'good' | 'warning' | 'bad' | 'quiet'} Kind
 * @param {boolean} isSo
 * @param {Kind} kind
 * @returns {{ kind?: Kind }}
 */
export function marked(isSo, kind) {
  return isSo ? { kind } : {};
}

/** Removes all that a state put on the page. */
export function clearAll() {
  for (const filled of document.querySelectorAll('[data-fill], thead, tbody')) filled.replaceChildren();
}

/**
 * @param {Element} row
 * @param {readonly Cell[]} cells
 * @param {number} span
 */
function fillRow(row, cells, span) {
  // A row of data begins with its heading; the row that stands for no data does not.
  const heading = span === 1 ? 'TH' : 'TD';
  if (row.firstElementChild !== null && row.firstElementChild.tagName !== heading) row.replaceChildren();
  if (row.firstElementChild === null && heading === 'TH') row.append(newHeading('row'));
  fillChildren(row, cells, newCell, (cell, { text, kind, isNumber, title }) => {
    setText(cell, text);
    cell.className = [kind ?? '', isNumber === true ? 'number' : ''].join(' ').trim();
    if (title === undefined) cell.removeAttribute('title');
    else cell.setAttribute('title', title);
  });
  if (heading === 'TD') row.firstElementChild?.setAttribute('colspan', String(span));
}

const newRow = () => element('tr');
const newCell = () => element('td');
/** @param {'col' | 'row'} scope */
const newHeading = (scope) => Object.assign(element('th'), { scope });
