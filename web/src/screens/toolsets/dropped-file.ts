/** A file that was dropped on one page and is read on the next. Files cannot be held by an address. */
let droppedFile: File | null = null;

export function setDroppedFile(file: File): void {
  droppedFile = file;
}

export function takeDroppedFile(): File | null {
  const file = droppedFile;
  droppedFile = null;
  return file;
}

/** The kind that the gateway is told, by the name of the file. */
export function contentType(name: string): "application/yaml" | "application/zip" {
  return /\.ya?ml$/i.test(name) ? "application/yaml" : "application/zip";
}
