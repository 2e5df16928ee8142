/**
 * Returns a function that makes an object, generated so that it is as fast as an object literal.
 * Only for names and code of our own.
 * @param members the code of each value, over the parameters
 */
export function objectMaker<Parameters extends readonly unknown[], Made>(
  parameters: { readonly [Index in keyof Parameters]: string },
  members: Readonly<Record<keyof Made & string, string>>,
): (...given: Parameters) => Made {
  const code = Object.entries(members).map(([name, value]) => `${JSON.stringify(name)}: ${String(value)}`);
  // oxlint-disable-next-line typescript/no-implied-eval
  return new Function(...parameters, `return { ${code.join(", ")} };`) as (...given: Parameters) => Made;
}
