import type { BootTime } from "../../src/clock/boot.ts";

const START_MS = Date.UTC(2026, 0, 15);

/** A machine whose clocks a test moves. */
export class Machine {
  #host_ms = START_MS;
  #uptime_ms = 1_000_000;
  #boot = 1;

  readonly host = (): number => this.#host_ms;
  readonly elapsed = (): number => this.#uptime_ms;
  readonly boot = (): BootTime => ({ boot: `boot-${this.#boot}`, uptime_ms: this.#uptime_ms });

  /** Advances all of its clocks. */
  pass(ms: number): void {
    this.#host_ms += ms;
    this.#uptime_ms += ms;
  }

  /** Sets the host's clock. */
  step(ms: number): void {
    this.#host_ms += ms;
  }

  /** Restarts the machine after some time switched off. */
  reboot(off_ms: number): void {
    this.#host_ms += off_ms;
    this.#uptime_ms = 5_000;
    this.#boot += 1;
  }
}
