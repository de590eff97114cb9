//! A market and a division of it, as typed and as read from files.

use crate::args::MarketFiles;
use crate::number_table::{NumberTable, distinct};
use crate::numbers;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_fairness::division::{TOLERANCE, throughputs};
use evenhand_sim::InputError;
use evenhand_solve::{Market, Matrix};
use std::path::Path;

/// A market whose rows and columns have names.
#[derive(Debug)]
pub struct NamedMarket {
    /// Without names.
    pub market: Market,
    /// A name for each row: as given, or made up.
    pub tenants: Vec<String>,
    /// A name for each column: as given, or made up.
    pub models: Vec<String>,
    /// Whether the rows were given names.
    tenants_are_named: bool,
    /// Whether the columns were given names.
    models_are_named: bool,
    /// Where the rows come from.
    place: String,
}

impl MarketFiles {
    /// Reads and checks everything.
    pub fn market(&self) -> Result<NamedMarket> {
        let (names, capacity) = capacity(&self.capacity)?;
        let mut table = NumberTable::read(&self.speedups, capacity.len(), names.as_deref(), "a speedup")?;
        if let Some(names) = &names {
            order_columns(&mut table, names, "--capacity")?;
        }
        let names = names.or_else(|| table.models.clone());
        let mut market = Market::new(Matrix::from_rows(&table.rows), capacity);
        if let Some(text) = &self.weights {
            market = market.weighing(weights(text, table.rows.len())?);
        }
        let models_are_named = names.is_some();
        let models = names.unwrap_or_else(|| (1..=market.models()).map(|at| format!("model {at}")).collect());
        for (row, line) in table.rows.iter().zip(&table.lines) {
            if row.iter().zip(&market.capacity).all(|(speedup, gpus)| speedup * gpus <= 0.0) {
                let allowed = "a tenant can run on at least one of the GPU models that there are";
                let row: Vec<String> = row.iter().map(f64::to_string).collect();
                return Err(InputError::field(*line, "a row", row.join(","), allowed)
                    .within(&table.place)
                    .into());
            }
        }
        market.check().map_err(|error| InputError::whole(&table.place, error.to_string()))?;
        let tenants_are_named = table.tenants.is_some();
        let tenants = table
            .tenants
            .unwrap_or_else(|| (1..=market.parties()).map(|at| format!("tenant {at}")).collect());
        Ok(NamedMarket { market, tenants, models, tenants_are_named, models_are_named, place: table.place })
    }
}

impl NamedMarket {
    /// Reads who has what. Rows and columns that have names in both files are matched by name, others by place.
    pub fn shares(&self, path: &Path) -> Result<Matrix> {
        let names = self.models_are_named.then_some(&self.models[..]);
        let mut table = NumberTable::read(path, self.market.models(), names, "a share")?;
        if let Some(names) = names {
            order_columns(&mut table, names, &self.place)?;
        }
        if table.rows.len() != self.tenants.len() {
            let allowed = format!("{} has {}", self.place, self.tenants.len());
            let error = InputError::field(0, "the number of tenants", table.rows.len(), allowed);
            return Err(error.within(&table.place).into());
        }
        let rows = match &table.tenants {
            Some(found) if self.tenants_are_named => {
                if let Some(at) = found.iter().position(|name| !self.tenants.contains(name)) {
                    let allowed = format!("{} has no tenant of this name", self.place);
                    let error = InputError::field(table.lines[at], "the tenant", &found[at], allowed);
                    return Err(error.within(&table.place).into());
                }
                let place = |name| found.iter().position(|other| other == name);
                // As many names, all different and all known, are the same names.
                let places = self.tenants.iter().filter_map(place);
                places.map(|at| table.rows[at].clone()).collect()
            }
            _ => table.rows,
        };
        let shares = Matrix::from_rows(&rows);
        for (model, given) in shares.column_sums().iter().enumerate() {
            let gpus = self.market.capacity[model];
            if *given > gpus * (1.0 + TOLERANCE) {
                let sum = format!("the sum of the shares of {}", self.models[model]);
                let error = InputError::field(0, &sum, given, format!("there are only {gpus} such GPUs"));
                return Err(error.within(&table.place).into());
            }
        }
        Ok(shares)
    }
}

impl NamedMarket {
    /// What everybody has, against its own part of every GPU model.
    pub fn table(&self, shares: &Matrix) -> Table {
        let market = &self.market;
        let models = self.models.iter().map(|model| (model.clone(), Side::Right));
        let rest =
            ["weight", "throughput", "with its\nown part"].map(|title| (title.to_owned(), Side::Right));
        let mut table = Table::new([("tenant".to_owned(), Side::Left)].into_iter().chain(models).chain(rest));
        let weights: f64 = market.weights.iter().sum();
        for (at, own) in throughputs(market, shares).into_iter().enumerate() {
            let alone = market.throughput(at, &market.capacity) * market.weights[at] / weights;
            let gpus = shares.row(at).iter().map(|gpus| numbers::plain(*gpus));
            let rest = [market.weights[at], own, alone].map(numbers::plain);
            table.row(std::iter::once(self.tenants[at].clone()).chain(gpus).chain(rest));
        }
        table
    }
}

/// Puts columns with a header into the order of the names that they must have.
fn order_columns(table: &mut NumberTable, names: &[String], whose: &str) -> Result<(), InputError> {
    let Some(found) = &table.models else { return Ok(()) };
    let places: Vec<usize> =
        names.iter().filter_map(|name| found.iter().position(|other| other == name)).collect();
    if places.len() != names.len() {
        let allowed = format!("the GPU models of {whose} are {}", names.join(","));
        return Err(
            InputError::field(table.first_line, "the header", found.join(","), allowed).within(&table.place)
        );
    }
    for row in &mut table.rows {
        *row = places.iter().map(|at| row[*at]).collect();
    }
    table.models = Some(names.to_vec());
    Ok(())
}

/// Reads `8,8,8` or `v100=8,p100=8`.
fn capacity(text: &str) -> Result<(Option<Vec<String>>, Vec<f64>), InputError> {
    let allowed = "it is written 8,8,8 or v100=8,p100=8: how many GPUs there are of each model";
    let wrong = |part: &str| InputError::field(0, "--capacity", part, allowed);
    let (mut names, mut gpus) = (Vec::new(), Vec::new());
    for part in text.split(',').map(str::trim) {
        let number = match part.split_once('=') {
            Some((name, number)) => {
                names.push(name.trim().to_owned());
                number.trim()
            }
            None => part,
        };
        gpus.push(number.parse().ok().filter(|gpus| (0.0..=1e9).contains(gpus)).ok_or_else(|| wrong(part))?);
    }
    if names.is_empty() {
        return Ok((None, gpus));
    }
    if names.len() != gpus.len() {
        return Err(wrong(text));
    }
    distinct(names.iter().map(|name| (name.as_str(), 0)), "a GPU model")
        .map_err(|error| error.within("--capacity"))?;
    Ok((Some(names), gpus))
}

/// Reads `1,2,1`: one weight for each tenant.
fn weights(text: &str, tenants: usize) -> Result<Vec<f64>, InputError> {
    let weight = |part: &str| {
        let number: Option<f64> = part.parse().ok().filter(|weight| (1e-9..=1e9).contains(weight));
        number.ok_or_else(|| InputError::field(0, "--weights", part, "a weight is a number from 1e-9 to 1e9"))
    };
    let weights: Vec<f64> = text.split(',').map(str::trim).map(weight).collect::<Result<_, _>>()?;
    if weights.len() != tenants {
        return Err(InputError::field(
            0,
            "--weights",
            text,
            format!("there are {tenants} tenants, with a weight each"),
        ));
    }
    Ok(weights)
}
