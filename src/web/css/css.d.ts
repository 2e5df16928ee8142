/** A sheet that a script imports is added to the document by `infra/page.ts`. */
declare module "*.css";
