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
import { UnknownEntityError } from './world/changes/index.js';

/** The server, ready to listen: the service under `/v1`, its description, and the controls of the sandbox. */
export async function buildServer(service: Service): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: service.settings.bodyLimit,
    // A stopped sandbox is gone at once, even where a fault keeps a request hanging.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 1000 },
  });
  app.setValidatorCompiler(validatorCompiler);
  // Answers are rendered by their handlers; a schema here describes them in /openapi.json and is proven by tests.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  readJsonBodies(app);
  app.decorateRequest('principal', null);
  app.decorateRequest('fault', null);
  app.decorateRequest('claim', null);
  app.decorateRequest('sentText', '');
  app.decorateRequest('given', null);

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

/** JSON bodies, with the text as it was sent kept for the comparison of idempotent payloads; empty is no body. */
function readJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    request.sentText = text;
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
