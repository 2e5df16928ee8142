/** The engines that a process depends on, by their names in readiness. */
export const DEPENDENCIES = ["bus", "store", "catalog"] as const;
export type Dependency = (typeof DEPENDENCIES)[number];
