import swagger from '@fastify/swagger';
import { type FastifyError, type FastifyInstance, fastify } from 'fastify';
import {
  hasZodFastifySchemaValidationErrors,
  jsonSchemaTransform,
  validatorCompiler,
} from 'fastify-type-provider-zod';
import { z } from 'zod';
import { messageOf } from '../base/errors.js';
import { controls } from './controls.js';
import { bodyOf, HttpError, invalid, noSuchPath } from './errors.js';
import type { Service } from './service.js';
import { v1 } from './v1.js';
import { UnknownEntityError } from './world/history.js';

/** Builds the server: the API under `/v1`, its OpenAPI description, and the sandbox's controls. */
export async function buildServer(service: Service): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: 4 * 1024 * 1024,
    // A stopped sandbox closes at once, even while a fault keeps a request hanging.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 1000 },
  });
  app.setValidatorCompiler(validatorCompiler);
  // Handlers render their answers. The schemas only describe them in /openapi.json; tests check that they match.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  readJsonBodies(app);
  for (const name of ['principal', 'fault', 'claim', 'storedAnswer']) app.decorateRequest(name, null);
  app.decorateRequest('bodyText', '');

  app.setErrorHandler((error: FastifyError, request, reply) => {
    const http = httpErrorOf(error);
    if (http.status === 500) service.log.error({ err: error, path: request.url }, 'unexpected error');
    return reply.code(http.status).send(bodyOf(http));
  });
  app.setNotFoundHandler(noSuchPath);

  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Product-Signals REST API', version: '1.0.0' },
      servers: [{ url: '/' }],
      components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
      security: [{ apiKey: [] }],
    },
    transform: jsonSchemaTransform,
  });
  await app.register(v1(service), { prefix: '/v1' });
  await app.register(controls(service), { prefix: '/__sandbox' });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  return app;
}

/** Parses JSON bodies and keeps their text, which idempotency compares. An empty body counts as no body. */
function readJsonBodies(app: FastifyInstance): void {
  // A field named __proto__ is unknown like others, and is left out.
  const parse = app.getDefaultJsonParser('remove', 'remove');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    request.bodyText = text;
    if (text.trim() === '') return done(null, undefined);
    return parse(request, text, done);
  });
}

function httpErrorOf(error: FastifyError): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof z.ZodError) return invalid(z.prettifyError(error), error.issues);
  if (error instanceof UnknownEntityError) return new HttpError(404, messageOf(error));
  if (hasZodFastifySchemaValidationErrors(error)) {
    const issues = error.validation.map((issue) => ({ path: issue.instancePath, message: issue.message }));
    const [first] = issues;
    return invalid(
      `The request's ${error.validationContext} is not valid: ${first?.path} ${first?.message}`,
      issues,
    );
  }
  const status = error.statusCode ?? 500;
  return new HttpError(status, status === 500 ? 'Unexpected server error' : messageOf(error));
}
