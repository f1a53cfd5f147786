/** A command about a key, in words that a shell takes as they are: a key may hold any printable character except blanks. */

/** zsh replaces a word like `=ls` by a path. */
const PLAIN_WORD = /^(?!=)[\w.:/@%+=,-]+$/;

/** @param options given with the key, ready for a shell */
export function keyCommand(name: string, key: string, options = ''): string {
  const word = PLAIN_WORD.test(key) ? key : `'${key.replaceAll("'", String.raw`'\''`)}'`;
  // After `--` a key is not taken for an option.
  const words = key.startsWith('-') ? [name, options, '--', word] : [name, word, options];
  return words.filter((one) => one !== '').join(' ');
}
