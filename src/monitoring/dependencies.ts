/** The engines that a process works with, by the names that readiness has for them. */
export const DEPENDENCIES = ["bus", "store", "catalog"] as const;
export type Dependency = (typeof DEPENDENCIES)[number];
