/** A certificate authority of its own, with certificates of a broker and of clients. Made with openssl. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

export interface Certificates<Client extends string = never> {
  /** PEM files. */
  readonly ca: string;
  readonly otherCa: string;
  /** Certificate and key in one file. */
  readonly broker: string;
  /** By the name in the certificate. */
  readonly clients: Readonly<Record<Client, CertificateFiles>>;
  /** Of a server at 127.0.0.1, signed by `ca`. */
  readonly server: CertificateFiles;
  /** ... with the name of another. */
  readonly misnamed: CertificateFiles;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export function makeCertificates<Client extends string = never>(
  directory: string,
  clients: readonly Client[] = [],
): Certificates<Client> {
  const path = (name: string): string => join(directory, name);
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
  };
  const authority = (name: string): string => {
    openssl(
      ...['req', '-x509', ...NEW_KEY, '-days', '2', '-subj', `/CN=${name}`],
      ...['-keyout', path(`${name}.key`), '-out', path(`${name}.pem`)],
    );
    return path(`${name}.pem`);
  };
  const signed = (name: string, extensions: string): CertificateFiles => {
    const [key, request, cert, extensionFile] = [`${name}.key`, `${name}.csr`, `${name}.pem`, `${name}.ext`].map(path);
    if (key === undefined || request === undefined || cert === undefined || extensionFile === undefined)
      throw new Error();
    writeFileSync(extensionFile, extensions);
    openssl('req', ...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', key, '-out', request);
    openssl(
      ...['x509', '-req', '-in', request, '-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-CAcreateserial'],
      ...['-days', '2', '-extfile', extensionFile, '-out', cert],
    );
    return { cert, key };
  };
  const ca = authority('ca');
  const otherCa = authority('other-ca');
  const broker = signed('broker', 'subjectAltName=IP:127.0.0.1\n');
  writeFileSync(path('broker-both.pem'), readFileSync(broker.key, 'utf8') + readFileSync(broker.cert, 'utf8'));
  return {
    ca,
    otherCa,
    broker: path('broker-both.pem'),
    clients: Object.fromEntries(clients.map((name) => [name, signed(name, 'extendedKeyUsage=clientAuth\n')])) as Record<
      Client,
      CertificateFiles
    >,
    server: broker,
    misnamed: signed('misnamed', 'subjectAltName=DNS:another.example\n'),
  };
}
