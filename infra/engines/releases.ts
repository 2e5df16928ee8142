/**
 * The releases of Elasticsearch that run here, by the name in ENGINES_ELASTICSEARCH. The first is
 * the default.
 */
export const ELASTICSEARCH_RELEASES = { "9.5": "9.5.3", "8.19": "8.19.5" } as const;

export type ElasticsearchRelease = keyof typeof ELASTICSEARCH_RELEASES;

export const DEFAULT_RELEASE: ElasticsearchRelease = "9.5";

/**
 * Returns the name of the data folder or volume of a release. Each has its own: no release reads
 * the data of a later one.
 */
export function dataNameOf(release: ElasticsearchRelease): string {
  return release === DEFAULT_RELEASE ? "elasticsearch" : `elasticsearch-${release}`;
}
