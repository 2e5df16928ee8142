/** Tags of elements that no policy keeps from the network. A tag name directly follows `<`. */
const NETWORK_TAGS = /<(\/?)(link|iframe)/gi;

/**
 * Disables HTML elements that reach the network despite a content security policy and a sandbox:
 * `<link rel=preconnect>` and `dns-prefetch` open connections and resolve names, and the `srcdoc`
 * of an `<iframe>` may hide such links from a filter. They are renamed to unknown elements. The
 * policy forbids everything else that they load.
 */
export function inertHtml(html: string): string {
  return html.replace(NETWORK_TAGS, "<$1x-$2");
}
