import { ApiFault } from "../api/client.ts";
import type { App } from "../app.ts";

/** Signs in by a ticket, which leaves the address, or finds the session that is there. @throws ApiFault */
export async function signInByTicket({ session, location }: App, ticket: string): Promise<void> {
  const { parameters, ...place } = location.place.peek();
  location.amend({ ...place, parameters: new Map([...parameters].filter(([name]) => name !== "ticket")) });
  try {
    await session.signIn({ ticket });
  } catch (error) {
    // A ticket serves once and not for long; the person may be signed in all the same.
    if (!(error instanceof ApiFault) || error.status === 0) throw error;
    await session.open();
  }
}
