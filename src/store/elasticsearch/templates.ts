import type { Client, estypes } from "@elastic/elasticsearch";

import { replicaSettings } from "../../elasticsearch/replicas.ts";
import { StartError } from "../../errors.ts";
import { FIELD_LIMITS, indexKinds, LAYOUT_VERSION, indexMappings } from "./documents/mapping.ts";
import type { Names } from "./documents/mapping.ts";
import { MAX_EXPRESSION_LENGTH } from "./compile/regexp.ts";

/** Above the templates of Elasticsearch (`logs-*-*`, 100): any namespace gets plain indices. */
const TEMPLATE_PRIORITY = 500;

export type IndexOptions = {
  /** Primary shards of each index. Default: 1. */
  readonly shards?: number | undefined;
  /** Replicas of each shard. Default: one as soon as the cluster has a second node. */
  readonly replicas?: number | undefined;
};

/** A component template of the operator, which is merged into the templates of a kind. */
type CustomTemplate = { readonly name: string; readonly settings: ReadonlySet<string> };

/**
 * Puts the index templates, by which the cluster creates indices on their first write. They contain
 * the operator's component template `<kind>@custom`, such as `loggia-events@custom`, if there is
 * one. Any number of processes may run this at once.
 * @throws StartError if the templates or indices have another layout
 */
export async function putTemplates(client: Client, names: Names, options: IndexOptions): Promise<void> {
  // All checks precede the first change. Then all at once: the cluster batches concurrent changes.
  const [custom] = await Promise.all([
    readCustomTemplates(client, names),
    ...indexKinds(names).map((kind) => refuseOtherTemplate(client, kind)),
    refuseOtherIndices(client, names),
  ]);
  await Promise.all(
    indexKinds(names).flatMap((kind) => putTemplatesOf(client, names, kind, options, custom.get(customOf(kind)))),
  );
}

function customOf(kind: string): string {
  return `${kind}@custom`;
}

async function readCustomTemplates(client: Client, names: Names): Promise<ReadonlyMap<string, CustomTemplate>> {
  // Where none matches, this is 404.
  const answer: Partial<estypes.ClusterGetComponentTemplateResponse> = await client.cluster.getComponentTemplate(
    { name: names.custom, flat_settings: true },
    { ignore: [404] },
  );
  const { component_templates: found = [] } = answer;
  return new Map(
    found.map(({ name, component_template: { template } }) => [
      name,
      { name, settings: new Set(Object.keys(template.settings ?? {})) },
    ]),
  );
}

function putTemplatesOf(
  client: Client,
  names: Names,
  kind: string,
  options: IndexOptions,
  custom: CustomTemplate | undefined,
): Promise<unknown>[] {
  const isMonthly = kind !== names.bookmarks;
  const mappings = { ...indexMappings(names, kind), _meta: { layout: LAYOUT_VERSION } };
  const template = { settings: settings(options, custom), mappings };
  const common = {
    priority: TEMPLATE_PRIORITY,
    _meta: { layout: LAYOUT_VERSION },
    ...(custom && { composed_of: [custom.name] }),
  };
  return [
    client.indices.putIndexTemplate({
      ...common,
      name: kind,
      index_patterns: [isMonthly ? `${kind}-*` : kind],
      template: { ...template, ...(isMonthly && { aliases: { [kind]: {} } }) },
    }),
    // Later generations of the same kind, which have no alias until they are complete.
    client.indices.putIndexTemplate({
      ...common,
      name: `${kind}.generations`,
      index_patterns: [`${kind}.g*`],
      template,
    }),
  ];
}

async function refuseOtherTemplate(client: Client, name: string): Promise<void> {
  const answer = await client.indices.getIndexTemplate({ name }, { ignore: [404] });
  const { _meta: meta } = answer.index_templates?.[0]?.index_template ?? {};
  refuseOtherLayout(`index template ${name}`, meta?.["layout"]);
}

/** An index without a layout was created by another template: see `lacksLayout`. */
async function refuseOtherIndices(client: Client, names: Names): Promise<void> {
  const found = await client.indices.getMapping({
    index: [...indexKinds(names)],
    ignore_unavailable: true,
    allow_no_indices: true,
    filter_path: "*.mappings._meta",
  });
  for (const [index, { mappings }] of Object.entries(found)) {
    const { _meta: meta } = mappings;
    refuseOtherLayout(`index ${index}`, meta?.["layout"]);
  }
}

function refuseOtherLayout(what: string, layout: unknown): void {
  if (typeof layout !== "number" || layout === LAYOUT_VERSION) return;
  throw new StartError(
    `The Elasticsearch ${what} has layout ${layout}; this release reads layout ${LAYOUT_VERSION}: ` +
      "start the release that wrote it",
  );
}

function settings(
  { shards = 1, replicas }: IndexOptions,
  custom: CustomTemplate | undefined,
): estypes.IndicesIndexSettings {
  const isCustom = (...names: readonly string[]): boolean =>
    names.some((name) => custom?.settings.has(`index.${name}`) === true);
  // What an index template says itself precedes its components, so that the operator's settings
  // have to be left out here.
  return {
    ...(!isCustom("number_of_shards") && { number_of_shards: shards }),
    ...(!isCustom("number_of_replicas", "auto_expand_replicas") && replicaSettings(replicas)),
    // Explicit, since an index with the default stops refreshing when it is not searched for a
    // while.
    ...(!isCustom("refresh_interval") && { refresh_interval: "1s" }),
    max_regex_length: MAX_EXPRESSION_LENGTH,
    ...FIELD_LIMITS,
  };
}
