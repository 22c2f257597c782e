// name: Sequelize
// declare: `doc: DataTypes.JSONB`
// note: `sync()` touches only the tables of models, `sync({ alter: true })` too.
'use strict';
const { drive, server } = require('./drive.js');

drive(async () => {
  const { Sequelize, DataTypes, Op, json } = require('sequelize');
  const db = new Sequelize(server.database, server.user, '', { ...server, dialect: 'postgres', logging: false, pool: { max: 1 } });
  const Person = db.define('Person', { id: { type: DataTypes.INTEGER, primaryKey: true }, doc: DataTypes.JSONB }, { tableName: 'person', timestamps: false });
  const find = (where, more) => Person.findAll({ attributes: ['id'], where, ...more });
  return {
    send: sql => db.query(sql),
    cases: {
      'text =': () => find({ doc: { town: 'Town 7' } }),
      'number =': () => find({ 'doc.age': 30 }),
      'number >': () => find({ 'doc.age': { [Op.gt]: 85 } }),
      'boolean': () => find({ 'doc.ok': true }),
      'date': () => find({ 'doc.born': { [Op.lt]: new Date('1970-01-05') } }),
      'nested': () => find({ doc: { address: { city: 'City 7' } } }),
      'IN': () => find({ 'doc.town': { [Op.in]: ['Town 7', 'Town 8'] } }),
      'OR': () => find({ [Op.or]: [{ 'doc.town': 'Town 7' }, { 'doc.town': 'Town 8' }] }),
      'OR of two': () => find({ [Op.or]: [{ 'doc.town': 'Town 7' }, { 'doc.address.city': 'City 8' }] }),
      'LIKE': () => find({ 'doc.town': { [Op.startsWith]: 'Town 7' } }),
      'ILIKE': () => find({ 'doc.town': { [Op.iLike]: 'town 7%' } }),
      'IS NULL': () => find({ 'doc.town': null }),
      'array has': () => find({ doc: { [Op.contains]: { tags: ['t7'] } } }),
      'document has': () => find({ doc: { [Op.contains]: { town: 'Town 7' } } }),
      'element has': () => find({ doc: { [Op.contains]: { lines: [{ name: 'L7', qty: 2 }] } } }),
      'order, limit': () => find({ 'doc.town': { [Op.ne]: null } }, { order: [[json('doc.town'), 'ASC'], ['id', 'ASC']], limit: 10 }),
      'count': () => Person.count({ where: { 'doc.town': 'Town 7' } }),
      'lock': () => db.transaction(transaction => find({ 'doc.town': 'Town 7' }, { lock: true, skipLocked: true, transaction })),
      'update': () => Person.update({ doc: { town: 'Town 7', moved: true } }, { where: { 'doc.town': 'Town 7' } }).then(([n]) => n),
      'delete': () => Person.destroy({ where: { 'doc.town': 'Town 8' } }),
    },
    end: () => db.close(),
  };
});
