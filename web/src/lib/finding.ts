/** Finding among thousands while somebody types: what is compared was made lower case once, and before. */

export type Indexed<T> = readonly { readonly item: T; readonly text: string }[];

export function indexed<T>(items: readonly T[], words: (item: T) => string): Indexed<T> {
  return items.map((item) => ({ item, text: words(item).toLowerCase() }));
}

/** Those with every word that was typed, in the order they had; whoever begins with the first word comes first. */
export function found<T>(index: Indexed<T>, typed: string): readonly T[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const first = words[0];
  if (first === undefined) return index.map(({ item }) => item);
  const ahead: T[] = [];
  const others: T[] = [];
  for (const { item, text } of index) {
    if (!words.every((word) => text.includes(word))) continue;
    (text.startsWith(first) ? ahead : others).push(item);
  }
  return [...ahead, ...others];
}

/** The same without reordering: for what has a place on the page. */
export function matching<T>(index: Indexed<T>, typed: string): readonly T[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return index.map(({ item }) => item);
  const kept: T[] = [];
  for (const { item, text } of index) if (words.every((word) => text.includes(word))) kept.push(item);
  return kept;
}
