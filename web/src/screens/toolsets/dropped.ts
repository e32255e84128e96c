/** A file that was dropped on one page and is read on the next. Files cannot be held by an address. */
let waiting: File | null = null;

export function drop(file: File): void {
  waiting = file;
}

export function takeDropped(): File | null {
  const file = waiting;
  waiting = null;
  return file;
}

/** The kind that the gateway is told, by the name of the file. */
export function kindOf(name: string): "application/yaml" | "application/zip" {
  return /\.ya?ml$/i.test(name) ? "application/yaml" : "application/zip";
}
