/** Start and end tags of elements that no policy keeps from the network; a name begins right behind `<`. */
const REACHING = /<(\/?)(link|iframe)/gi;

/**
 * HTML without elements that a content security policy and a sandbox let through to the network:
 * `<link rel=preconnect>` and `dns-prefetch` open connections and look up names, and the `srcdoc` of
 * an `<iframe>` may hold such links in a form that only a parser sees. They are renamed to elements
 * that mean nothing; all else that `<link>` and `<iframe>` load is forbidden by the policy anyway.
 */
export function inertHtml(html: string): string {
  return html.replace(REACHING, "<$1x-$2");
}
