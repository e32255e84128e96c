/** A file that was dropped on one screen and is read on the next. A URL cannot hold a file. */
let droppedFile: File | null = null;

export function setDroppedFile(file: File): void {
  droppedFile = file;
}

export function takeDroppedFile(): File | null {
  const file = droppedFile;
  droppedFile = null;
  return file;
}

/** The content type, by file extension. */
export function contentType(name: string): "application/yaml" | "application/zip" {
  return /\.ya?ml$/i.test(name) ? "application/yaml" : "application/zip";
}
