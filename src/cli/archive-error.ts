/** An archive that cannot be read, or not to its end. */
export class ArchiveError extends Error {
  readonly code = "ARCHIVE";
  /** Whether its end is missing: it may be being written. */
  readonly isTruncated: boolean;
  constructor(message: string, { isTruncated = false, ...options }: ErrorOptions & { isTruncated?: boolean } = {}) {
    super(message, options);
    this.name = "ArchiveError";
    this.isTruncated = isTruncated;
  }
}
