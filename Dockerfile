# One image: the worker, its sandbox and its SQL. Data lives in the volume /data.
#   docker build -t signalhouse .
#   docker run --rm --env-file .env -v signalhouse:/data --stop-timeout 30 signalhouse sync
FROM docker.io/library/node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts ./scripts
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build

FROM docker.io/library/node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts/prepare.mjs ./scripts/
RUN npm ci --omit=dev

FROM docker.io/library/node:24-bookworm-slim
# tini is process 1: it hands signals on and reaps, so that SIGTERM ends a sync in order.
RUN apt-get update \
  && apt-get install -y --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production SIGNALHOUSE_DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json README.md ./
COPY config ./config
COPY docs ./docs
COPY sql ./sql
RUN ln -s /app/dist/main.js /usr/local/bin/signalhouse \
  && install -d -o node -g node -m 0700 /data
USER node
VOLUME /data
# Files named on the command line without a folder go to the volume.
WORKDIR /data
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/tini", "--", "signalhouse"]
CMD ["--help"]
