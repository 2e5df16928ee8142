import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { findJdk } from "../../infra/engines/jdk.ts";

/** A key with its self-signed certificate for this machine, as operators of a Kafka have it. */
export type Certificate = {
  /** PKCS12, as the JVM and Node read it. */
  readonly keystore: string;
  readonly password: string;
  /** The certificate alone in PEM, for clients that trust it. */
  readonly pem: string;
};

/** Each call runs a short JVM, which starts faster with the simplest compiler and collector. */
const FAST = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"];

/**
 * Creates a certificate in `folder` with the JDK's keytool.
 * @throws Error that says what to install
 */
export async function createCertificate(folder: string, name: string): Promise<Certificate> {
  const { home } = await findJdk();
  const certificate = {
    keystore: join(folder, `${name}.p12`),
    password: `${name}-keys`,
    pem: join(folder, `${name}.pem`),
  };
  const store = ["-keystore", certificate.keystore, "-storetype", "PKCS12", "-storepass", certificate.password];
  const keytool = async (...args: string[]) => {
    try {
      await promisify(execFile)(join(home, "bin/keytool"), [...FAST, ...args, "-alias", name, ...store]);
    } catch (error) {
      const { stdout = "", message } = error as Error & { stdout?: string };
      throw new Error(
        `A certificate for this test could not be made with keytool of the JDK in ${home}; a whole JDK of 21 or newer has one: ${message} ${stdout}`,
        { cause: error },
      );
    }
  };
  const made = ["-dname", `CN=${name}`, "-ext", "SAN=DNS:localhost,IP:127.0.0.1", "-validity", "2"];
  await keytool("-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", ...made);
  await keytool("-exportcert", "-rfc", "-file", certificate.pem);
  return certificate;
}
