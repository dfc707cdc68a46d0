// An OpenID provider with invented people; prints its address when it listens.
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const [port, back, client, secret] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const people = {
  ada: { email: 'ada@example.org', email_verified: true, name: 'Ada', groups: ['staff', 'Not an id!'] },
  eve: { email: 'eve@example.org', email_verified: true, name: 'Eve', groups: [] },
  mal: { email: 'ada@example.org', email_verified: false, name: 'Mal', groups: ['staff'] },
};
const provider = new Provider(issuer, {
  clients: [{
    client_id: client, client_secret: secret, redirect_uris: [back],
    grant_types: ['authorization_code'], response_types: ['code'],
  }],
  pkce: { required: () => true },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
  conformIdTokenClaims: false,
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
  features: { devInteractions: { enabled: true } },
  cookies: { keys: ['only for tests'] },
});
createServer(provider.callback()).listen(Number(port), '127.0.0.1', () => console.log(issuer));
