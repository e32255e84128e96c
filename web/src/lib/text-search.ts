/** Finding among thousands while somebody types: what is compared was made lower case once, and before. */

export type TextIndex<T> = readonly { readonly item: T; readonly text: string }[];

export function buildTextIndex<T>(items: readonly T[], textOf: (item: T) => string): TextIndex<T> {
  return items.map((item) => ({ item, text: textOf(item).toLowerCase() }));
}

/** Those with every word that was typed, in the order they had; whoever begins with the first word comes first. */
export function searchRanked<T>(index: TextIndex<T>, query: string): readonly T[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const first = words[0];
  if (first === undefined) return index.map(({ item }) => item);
  const prefixMatches: T[] = [];
  const others: T[] = [];
  for (const { item, text } of index) {
    if (!words.every((word) => text.includes(word))) continue;
    (text.startsWith(first) ? prefixMatches : others).push(item);
  }
  return [...prefixMatches, ...others];
}

/** The same without reordering: for what has a place on the page. */
export function searchInOrder<T>(index: TextIndex<T>, query: string): readonly T[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return index.map(({ item }) => item);
  const matches: T[] = [];
  for (const { item, text } of index) if (words.every((word) => text.includes(word))) matches.push(item);
  return matches;
}
